-- The interval that an operator has set; NULL: the one of the settings.
ALTER TABLE server ADD COLUMN pull_seconds REAL;
