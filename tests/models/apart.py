"""A function in a process of its own: one that dies takes no other along.

    record = apart(measure, "bert")      # what it returns, as JSON holds it; {"error": ...} where it fails
"""
import json
import os


def apart(function, *arguments):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            record = function(*arguments)
        except BaseException as error:
            record = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        with os.fdopen(writing, "w") as out:
            json.dump(record, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as source:
        text = source.read()
    _, status = os.waitpid(process, 0)
    return json.loads(text) if text else {"error": f"died with status {status}"}
