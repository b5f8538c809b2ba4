-- What statements of several sources call.

-- an amount of a resource; one that is NULL makes no row
CREATE MACRO size(resource, amount, unit) AS {'resource': resource, 'amount': amount, 'unit': unit};

-- a label and its value, as JSON
CREATE MACRO label(name, value) AS '{"' || name || '": ' || to_json(value)::VARCHAR || '}';

-- the rule that a node's label is one of the texts 'a|b', as JSON
CREATE MACRO one_of(name, value) AS '[[{"key": "' || name || '", "operator": "In", "values": '
    || replace(to_json(string_split(value, '|'))::VARCHAR, '","', '", "') || '}]]';

-- a request of a resource, and a limit
CREATE MACRO request(resource, request, unit) AS
    {'resource': resource, 'request': request, 'unit': unit};
CREATE MACRO request_limit(resource, request, most, unit) AS
    {'resource': resource, 'request': request, 'limit': most, 'unit': unit};

-- an amount of a resource of a NUMA cell; of the whole node where the cell is NULL
CREATE MACRO cell_size(cell, resource, amount, unit) AS
    {'cell': cell::VARCHAR, 'resource': resource, 'amount': amount, 'unit': unit};

-- a size that is one, or the number of an open bucket: '>24'
CREATE MACRO bucket(size, open, number) AS
    CASE WHEN size = open THEN number ELSE TRY_CAST(size AS DOUBLE) END;

-- a measure of Alibaba's, of which -1 and 101 stand for an abnormal value
CREATE MACRO normal(value) AS CASE WHEN value NOT IN (-1, 101) THEN value END;

-- Google's times are microseconds; 0 stands for what was before the trace, which begins at 600 s,
-- and 2^63 - 1, also where it was rounded, for what lies behind it
CREATE MACRO borg_ms(us) AS CASE WHEN us::DOUBLE = 0 THEN 600000 ELSE (us::DOUBLE // 1000)::BIGINT END;
CREATE MACRO in_trace(us) AS us::DOUBLE < 4611686018427387904;

-- the code that a name or a number stands for, from 0 on; NULL for any other text
CREATE MACRO code(text, names) AS coalesce(
    nullif(list_position(names, text), 0) - 1,
    CASE WHEN TRY_CAST(text AS BIGINT) BETWEEN 0 AND len(names) - 1
        THEN TRY_CAST(text AS BIGINT) END);

-- Google's codes of events of 2019
CREATE MACRO machine_event(type) AS code(type, ['UNKNOWN', 'ADD', 'REMOVE', 'UPDATE']);
CREATE MACRO instance_event(type) AS code(type, ['SUBMIT', 'QUEUE', 'ENABLE', 'SCHEDULE', 'EVICT',
    'FAIL', 'FINISH', 'KILL', 'LOST', 'UPDATE_PENDING', 'UPDATE_RUNNING']);

-- a constraint of 2019 as a requirement of a label, as JSON; NULL where its number is no whole one
CREATE MACRO relation_of(wanted) AS code(coalesce(nullif(wanted.relation, ''), '0'),
    ['EQUAL', 'NOT_EQUAL', 'LESS_THAN', 'GREATER_THAN', 'LESS_THAN_EQUAL', 'GREATER_THAN_EQUAL',
    'PRESENT', 'NOT_PRESENT']);
CREATE MACRO requirement(wanted) AS '{"key": ' || to_json(nullif(wanted.name, ''))::VARCHAR
    || ', "operator": "'
    || ['In', 'NotIn', 'Lt', 'Gt', 'Lt', 'Gt', 'Exists', 'DoesNotExist'][relation_of(wanted) + 1]
    || '"' || CASE
        WHEN relation_of(wanted) >= 6 THEN '}'
        WHEN relation_of(wanted) < 2
            THEN ', "values": [' || to_json(coalesce(wanted.value, ''))::VARCHAR || ']}'
        ELSE ', "values": ["' || (TRY_CAST(wanted.value AS BIGINT)
            + [0, 0, 0, 0, 1, -1][relation_of(wanted) + 1]) || '"]}' END;

-- texts of 2019 that should be numbers and are none
CREATE MACRO wrong_sizes(cpus, memory) AS list_filter([
    {'column': 'cpus', 'value': cpus, 'expected': 'a number'},
    {'column': 'memory', 'value': memory, 'expected': 'a number'}],
    lambda one: one.value IS NOT NULL AND TRY_CAST(one.value AS DOUBLE) IS NULL);
CREATE MACRO alloc_request(resource, amount, in_alloc) AS {'resource': resource,
    'request': CASE WHEN in_alloc THEN amount * 0 ELSE amount END,
    'limit': CASE WHEN in_alloc THEN amount END, 'unit': 'fraction'};

-- a point in time as ms: seconds, ms since 1970, or a date with a time of the day
CREATE MACRO point_ms(text) AS CASE
    WHEN TRY_CAST(text AS DOUBLE) >= 100000000000 THEN trunc(text::DOUBLE)::BIGINT
    WHEN TRY_CAST(text AS DOUBLE) >= 0 THEN trunc(text::DOUBLE * 1000)::BIGINT
    WHEN TRY_CAST(text AS DOUBLE) IS NULL
        THEN epoch_ms(TRY_CAST(replace(text, '/', '-') AS TIMESTAMPTZ)) END;

-- lists of numbers in JSON, each with its name: one list without, some by place or by name
CREATE MACRO lists_of(text) AS CASE json_type(TRY_CAST(text AS JSON))
    WHEN 'OBJECT' THEN list_transform(json_keys(text), lambda one: {'name': one,
        'numbers': TRY_CAST(json_extract(text, '/' || one) AS DOUBLE[])})
    WHEN 'ARRAY' THEN CASE json_type(text, '$[0]')
        WHEN 'ARRAY' THEN list_transform(range(json_array_length(text)::BIGINT), lambda one: {
            'name': one::VARCHAR,
            'numbers': TRY_CAST(json_extract(text, '/' || one) AS DOUBLE[])})
        ELSE [{'name': '', 'numbers': TRY_CAST(TRY_CAST(text AS JSON) AS DOUBLE[])}] END END;
CREATE MACRO all_numbers(lists) AS len(list_filter(lists, lambda one: coalesce(
    len(list_filter(one.numbers, lambda number: isfinite(number))) <> len(one.numbers), true))) = 0;
CREATE MACRO stem() AS regexp_replace(getvariable('file'), '\.(json|jsonl|txt)$', '');

-- of Azure's arrivals, the split of a file: dev of v1.dev.txt and of v1.dev.c2100000.txt
CREATE MACRO split_of(file) AS regexp_replace(file, '^(v1\.)?(.*?)(\.c\d+)?\.txt$', '\2');
CREATE MACRO listed(words) AS
    list_filter(string_split(coalesce(words, ''), ','), lambda one: one <> '');
