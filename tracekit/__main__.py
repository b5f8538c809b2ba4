"""``python -m tracekit``, and the command ``tracekit``."""

from tracekit.base.isolation import leave_current_folder

leave_current_folder()

from tracekit.commands.shell import main  # noqa: E402 - nothing of the current folder is imported from here on

if __name__ == "__main__":
    main()
