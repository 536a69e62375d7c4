"""`python -m fairlane_dnslog` is `fairlane-dnslog`."""

from fairlane_dnslog.commands import main

if __name__ == "__main__":
    main()
