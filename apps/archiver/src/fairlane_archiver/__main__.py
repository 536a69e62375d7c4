from fairlane_archiver.commands import main

main()
