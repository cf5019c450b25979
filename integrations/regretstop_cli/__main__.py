"""`python -m regretstop_cli` is the command."""

from regretstop_cli import main

if __name__ == "__main__":
    main()
