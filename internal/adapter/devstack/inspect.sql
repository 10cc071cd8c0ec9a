-- Returns the server version (150004 means 15.4), the available pgvector version ('' if there is
-- none), and whether the database $1 exists.
SELECT current_setting('server_version_num')::int,
       coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), ''),
       EXISTS (SELECT FROM pg_database WHERE datname = $1)
