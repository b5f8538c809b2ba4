"""Alibaba GPU cluster trace of 2020 (PAI): machine learning jobs on 1,897 machines, two months.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2020, README.md (columns, checksums), and the machine
table itself.
"""

from tracekit.base.units import BYTES_PER_MIB
from tracekit.intake.sources import Archives
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources.released._alibaba_batch import ALONE, BEGUN, MOST_INSTANCE_BYTES

_archive = Archives.single
_NAME = r"[\w./-]*"
_OF_JOB = rf"job={_NAME} task={_NAME}"

SOURCE = Released(
    name="pai20",
    title="Alibaba GPU cluster trace 2020 (PAI): 1,897 machines, jobs in tasks and instances",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/",
    licence="CC-BY-4.0",
    missing_names=frozenset({"", "nan", "NaN"}),
    lacks=(
        "use over time: one average over the life of each instance",
        "racks and zones",
        "disk",
        "priorities",
        "prices",
    ),
    inferred=(
        "an instance asks for what its task asks for",
        "an average over the life of an instance stands at the time when it began",
        "tasks without their instances: each instance lives as long as its task",
        "a job insists on a kind of GPU where its tag names one (gpu_type_spec)",
    ),
    notes=(
        "times are seconds less a constant: hour and weekday in UTC+8 are right, dates are not",
        "no gang is stated, though instances of distributed training start together",
        "pai_job_table is not read: tasks and instances have their own times and states",
        "inst_id means the job",
        "gigabytes are taken as 2^30 bytes; upstream does not say",
        "of what network bytes are counted is not stated: per sample, per second or in all",
    ),
    shared="_alibaba_batch",
    kinds=(
        Kind(
            word="machines",
            title="machines: cores, memory, GPUs and their kind",
            stem="pai_machine_spec",
            columns=rf"node={_NAME} gpu_type=[A-Z]\w* cpu:number memory:gib gpu:number",
            comment="machine,",
            archives=_archive(
                "pai_machine_spec",
                32 << 10,
                "cc0d38a4045af1b1af8179de8b1b54b1ddd995e6160d6d061a6b1000f1276c2d",
            ),
        ),
        Kind(
            word="tasks",
            title="tasks: requests",
            stem="pai_task_table",
            columns=rf"{_OF_JOB} instances:number status=[A-Z]\w* start:seconds end:seconds"
            r" cpu:hundredths memory:gib gpu:hundredths -=\w*",
            comment="job_name,",
            rules=ALONE,
            beside=("instances",),
            beside_bytes=MOST_INSTANCE_BYTES,
            archives=_archive(
                "pai_task_table",
                34 * BYTES_PER_MIB,
                "cd1d6dc3215d2a8607ccf6b6dd952b5db776df86926c73259fea7c1499ac40e5",
            ),
        ),
        Kind(
            word="instances",
            title="instances: lives, machines",
            stem="pai_instance_table",
            columns=rf"{_OF_JOB} -={_NAME} name={_NAME} job_id={_NAME} status=[A-Z]\w*"
            rf" start:seconds end:seconds node={_NAME}",
            comment="job_name,",
            rules=BEGUN,
            beside=("tasks", "tags"),
            archives=_archive(
                "pai_instance_table",
                663 * BYTES_PER_MIB,
                "1bf1e423a7ce3f8d086699801c362fd56a7182abdb234139e5ebbed97995ca06",
            ),
        ),
        Kind(
            word="tags",
            title="tags: the kind of GPU that a job insists on",
            stem="pai_group_tag_table",
            columns=rf"job_id=[0-9a-f]+ -={_NAME} gpu_type={_NAME} -={_NAME} -={_NAME}",
            comment="inst_id,",
            tables=("container",),
            archives=_archive(
                "pai_group_tag_table",
                53 * BYTES_PER_MIB,
                "722fef30b7fb7aa50dabd79155614b5423a9d65cf45a9b26c590d57725423a14",
            ),
        ),
        Kind(
            word="sensors",
            title="average use of instances",
            stem="pai_sensor_table",
            columns=rf"-={_NAME} -={_NAME} name={_NAME} -={_NAME} -={_NAME} -={_NAME}"
            " cpu:hundredths gpu:hundredths memory:gib memory_max:gib gpu_memory:gib"
            " gpu_memory_max:gib net_in:number net_out:number net_in_count:number"
            " net_out_count:number",
            comment="job_name,",
            beside=("instances",),
            archives=_archive(
                "pai_sensor_table",
                388 * BYTES_PER_MIB,
                "9a0b82e8bdf3949281e4ba1423d9b4b34847e52799eecb138966de46da69c7a0",
            ),
        ),
        Kind(
            word="machine_usage",
            title="average use of machines while an instance ran",
            stem="pai_machine_metric",
            columns=rf"-={_NAME} node={_NAME} start:seconds -:number cpu_iowait:hundredths"
            " cpu_kernel:hundredths cpu_user:hundredths gpu:hundredths load1:number net_in:number"
            " containers:number cpu:hundredths",
            comment="worker_name,",
            archives=_archive(
                "pai_machine_metric",
                198 * BYTES_PER_MIB,
                "53ad917193d3b1dd0f3055e723148b1f36c2f81789b014ea2930a7875892eef5",
            ),
        ),
    ),
)
