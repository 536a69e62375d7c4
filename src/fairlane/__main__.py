"""`python -m fairlane` is the command line."""

from fairlane.cli import main

if __name__ == "__main__":
    main()
