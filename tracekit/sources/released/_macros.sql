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
