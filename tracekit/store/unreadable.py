"""How reasons begin for documents of a cluster that are rejected before their kind is known.

Readers write them. The count of rejects by kind recognises by them the rejects of no kind.
"""

NO_JSON = "is no JSON"
VALUE_CUT_OFF = "is cut off: the file ends before the value does"
LIST_CUT_OFF = "is cut off: the file ends before the list does"
NESTED = "is nested too deeply"
TOO_LONG = "holds a number of too many digits"
TOO_LARGE = "is longer than the 16 MiB that are read of one object"
NO_OBJECT = "is no object of Kubernetes"
#: It is whole and of no object: the log lacks what changed until its next event.
WATCH_ENDED = "is an error of the watch"

#: It is read, and a store behind the server may have had more of it.
PARTIAL_ANSWER = "is of an answer that came with a warning"

#: It is of no row: the file has what a table holds by other metrics alone.
UNREAD = "is of metrics that are not read"

UNREADABLE = (NO_JSON, VALUE_CUT_OFF, LIST_CUT_OFF, NESTED, TOO_LONG, TOO_LARGE, NO_OBJECT)

#: The defects that such rejects are counted as.
UNREADABLE_DEFECT, WATCH_DEFECT = "unreadable_document", "watch_error"
PARTIAL_DEFECT = "partial_answer"
UNREAD_DEFECT = "metric_not_read"
