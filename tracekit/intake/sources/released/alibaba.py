"""Alibaba's cluster traces of 2017 and 2018, and that of its GPU cluster in 2020 (PAI).

Facts: alibaba/clusterdata. 2017: cluster-trace-v2017, schema.csv and trace_201708.md, issues 10,
11, 19 and 33. 2018: cluster-trace-v2018, schema.txt and trace_2018.md (columns, checksums), issues
64, 81 and 224. 2020: cluster-trace-gpu-v2020, README.md (columns, checksums). Of all three the
tables of machines themselves, and of 2017 that of tasks.

All have tables of batch jobs, whose statements are in ``_alibaba_batch.sql``. An instance is a
container. Its request stands with its task in another file, so both files are read together. If
tasks come without the file of instances, each task gives all its instances: each runs as long as
the task, on no known node.
"""

from tracekit.base.units import BYTES_PER_MIB
from tracekit.intake.sources import Archives
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

#: Quantities of an instance that are inferred from its task.
INFERRED = (
    "an instance of a batch task asks for what its task asks for",
    "batch tasks without their instances: each instance lives as long as its task",
)
#: A larger file of instances is not read a second time, to see which tasks have no instance there.
MOST_INSTANCE_BYTES = 1 << 30
#: The rules of an instance.
BEGUN = (
    "status: status IN ('Ready', 'Waiting') -> one of what has begun",
    "start: start IS NULL -> when it began",
    (
        """end: coalesce("end", 0) = 0 AND status <> 'Running'"""
        " -> when it ended, since it is not Running"
    ),
    (
        """end: status <> 'Running' AND greatest("end", 0) < greatest(start, 0)"""
        " -> no time before its start"
    ),
)
#: The rules of a task that stands for its instances.
ALONE = tuple(rule.replace(": ", ": getvariable('instances') = 0 AND ", 1) for rule in BEGUN)


#: One archive holds all six tables; its size is not stated.
_ARCHIVES = Archives(path="alibaba-trace-2017.tar.gz", parts=1, part_bytes=200 << 20)
_LOADS = "load1:number load5:number load15:number"

ALIBABA17 = Released(
    name="alibaba17",
    title="Alibaba cluster trace 2017: 1,313 machines, services bound to vCPUs, batch jobs, a day",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2017",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2017Traces/",
    lacks=(
        "memory and disk in bytes: fractions of the largest machine",
        "names of services",
        "network",
        "racks and zones",
        "prices",
    ),
    inferred=(
        "an online instance is a service of its own, since no service is named",
        "a machine is closed from its first error on: no event says when one is over",
        "an instance of a batch task has no name: job, task and line stand for it",
        *INFERRED,
    ),
    notes=(
        "sizes of 0 in error rows are no capacity",
        "of two Create events of one instance the first holds; the other counts as a duplicate",
        "tasks that are read beside their instances give these their requests, and no rows",
        "times before 0 are from before the trace and become 0",
        "upstream calls vCPUs 0 to 31 one package, and 0 and 32 one core: both cannot hold",
        "up to 124 cpus are given out on machines of 64 (issue 19)",
        "use of instances that no event names is kept (9088 and others)",
        "job and task are missing in instances that start between 60,000 s and 89,000 s (issue 10)",
    ),
    shared="_alibaba_batch",
    kinds=(
        Kind(
            word="machines",
            title="machines: sizes, errors",
            stem="server_event",
            columns=r"time:seconds=-?\d+ node=\d+ event=add|softerror|harderror detail=\w*"
            " cpu:number memory:number disk:number",
            rules=(
                (
                    "event: event NOT IN ('add', 'softerror', 'harderror')"
                    " -> add, softerror or harderror"
                ),
            ),
            whole=True,
            archives=_ARCHIVES,
        ),
        Kind(
            word="machine_usage",
            title="use of machines",
            stem="server_usage",
            columns=r"time:seconds=-?\d+ node=\d+ cpu:number memory:number disk:hundredths"
            f" {_LOADS}",
            archives=_ARCHIVES,
        ),
        Kind(
            word="containers",
            title="online instances: requests, machines, vCPUs",
            stem="container_event",
            columns=r"time:seconds=-?\d+ event=Create|Remove container=\d+ node=\d* cpu:number"
            r" memory:number disk:number cpus=[\d|]* -=",
            fewest=7,
            whole=True,
            archives=_ARCHIVES,
        ),
        Kind(
            word="container_usage",
            title="use of online instances",
            stem="container_usage",
            columns=r"time:seconds=-?\d+ container=\d+ cpu:number memory:number disk:hundredths"
            rf" {_LOADS} cpi:number mpki:number cpi_max:number mpki_max:number",
            beside=("containers",),
            archives=_ARCHIVES,
        ),
        Kind(
            word="tasks",
            title="batch tasks: requests",
            stem="batch_task",
            columns=r"start:seconds=-?\d+ end:seconds=-?\d+ job=\d* task=\d* instances:number=\d*"
            r" status=[A-Z]\w* cpu:hundredths memory:number",
            # one copy of the table that goes round has a line of names
            comment="task_create_time",
            rules=ALONE,
            beside=("instances",),
            beside_bytes=MOST_INSTANCE_BYTES,
            archives=_ARCHIVES,
        ),
        Kind(
            word="instances",
            title="batch instances: lives, machines, use",
            stem="batch_instance",
            columns=r"start:seconds=-?\d* end:seconds=-?\d* job=\d* task=\d* node=\d*"
            r" status=[A-Z]\w* try:number=\d* -=\d* -:number cpu:number -:number memory:number",
            rules=BEGUN,
            tables=("container", "container_resource", "container_amount"),
            beside=("tasks",),
            archives=_ARCHIVES,
        ),
    ),
)


_archive = Archives.single
_MEASURED = "bandwidth:number mpki:number net_in:number net_out:number disk_io:number"

ALIBABA18 = Released(
    name="alibaba18",
    title="Alibaba cluster trace 2018: 4,034 machines, 71,000 containers and batch jobs, 8 days",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2018",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2018Traces/",
    lacks=(
        "memory in bytes: sizes, requests and use are fractions of a machine's",
        "network and disk speed: use is a fraction of an unknown whole",
        "prices",
    ),
    inferred=(
        "a container departs when it stopped first with no other event after, else it stays",
        "a machine whose event names no second failure domain keeps the one before",
        *INFERRED,
    ),
    notes=(
        "failure_domain_1 is the domain, failure_domain_2 the zone; neither lies within the other",
        "status USING is ready; any other is closed",
        "-1 and 101 stand for no value in use of memory, network and disk, and in memory sizes",
        "the use of containers is taken as of their requests, as in 2017; upstream does not say",
        "upstream left open what disk_io_percent is (issue 81) and why mem_gps is low (224)",
        "about half of the memory in use belongs to no container and no batch instance (issue 64)",
    ),
    shared="_alibaba_batch",
    kinds=(
        Kind(
            word="machines",
            title="machines: sizes, failure domains",
            stem="machine_meta",
            columns=r"node=m_\d+ time:seconds=\d+ domain zone=\w* cpu:number memory:number"
            r" status=[A-Z_]*",
            whole=True,
            archives=_archive(
                "machine_meta",
                92 << 10,
                "b5b1b786b22cd413a3674b8f2ebfb2f02fac991c95df537f363ef2797c8f6d55",
            ),
        ),
        Kind(
            word="machine_usage",
            title="use of machines",
            stem="machine_usage",
            columns=rf"node=m_\d+ time:seconds=[\d.]+ cpu:number memory:number {_MEASURED}",
            archives=_archive(
                "machine_usage",
                1741 << 20,
                "3e6ee87fd204bb85b9e234c5c75a5096580fdabc8f085b224033080090753a7a",
            ),
        ),
        Kind(
            word="containers",
            title="containers: requests, limits, machines",
            stem="container_meta",
            columns=r"container!=c_\d+ node=m_\d+ time:seconds!=\d+ service=\w* status=\w*"
            " request:hundredths limit:hundredths memory:number",
            whole=True,
            archives=_archive(
                "container_meta",
                2458 << 10,
                "febd75e693d1f208a8941395e7faa7e466e50d21c256eff12a815b7e2fa2053f",
            ),
        ),
        Kind(
            word="container_usage",
            title="use of containers",
            stem="container_usage",
            columns=r"container!=(c_\d+)? node=m_\d+ time:seconds=[\d.]+ cpu:number memory:number"
            rf" cpi:number {_MEASURED}",
            archives=_archive(
                "container_usage",
                28 << 30,
                "b4bd3b1b82f5407c1b0dd47fe736ff5152c4b016a9c30cb26f988e2d1c5e5031",
            ),
        ),
        Kind(
            word="tasks",
            title="batch tasks: requests",
            stem="batch_task",
            columns=r"task=[^,]+ instances:number=\d* job -=\w* status=[A-Z]\w* start:seconds"
            " end:seconds cpu:hundredths memory:hundredths",
            rules=ALONE,
            beside=("instances",),
            beside_bytes=MOST_INSTANCE_BYTES,
            archives=_archive(
                "batch_task",
                125 << 20,
                "7c4b32361bd1ec2083647a8f52a6854a03bc125ca5c202652316c499fbf978c6",
            ),
        ),
        Kind(
            word="instances",
            title="batch instances: lives, machines, use",
            stem="batch_instance",
            columns=r"name=[^,]+ task=[^,]+ job -=\w* status=[A-Z]\w* start:seconds=\d*"
            r" end:seconds=\d* node=(m_\d+)? try:number -:number cpu:hundredths -:number"
            " memory:hundredths -:number",
            rules=BEGUN,
            tables=("container", "container_resource", "container_amount"),
            beside=("tasks",),
            archives=_archive(
                "batch_instance",
                20 << 30,
                "e73e5a9326669aa079ba20048ddd759383cabe1fe3e58620aa75bd034e2450c6",
            ),
        ),
    ),
)


_NAME = r"[\w./-]*"
_OF_JOB = rf"job={_NAME} task={_NAME}"

PAI20 = Released(
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
