from fairlane_extractor.commands import main

main()
