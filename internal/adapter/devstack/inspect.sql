-- What a server offers: its version (150004 means 15.4), the pgvector that can be
-- created in it, empty when none can, and whether the database $1 exists.
SELECT current_setting('server_version_num')::int,
       coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), ''),
       EXISTS (SELECT FROM pg_database WHERE datname = $1)
