-- A login; its row is deleted by the logout, so a copy of the cookie is of no use afterwards.
CREATE TABLE login_session (
    id text PRIMARY KEY,
    account text NOT NULL,
    began_at double precision NOT NULL
);
