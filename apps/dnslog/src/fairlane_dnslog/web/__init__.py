"""The web pages: a Flask application over the database, for people and for their browsers."""
