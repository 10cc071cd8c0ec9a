-- name: TemplateLock :exec
-- Waits until no other test process makes a template database. The lock ends with its session.
select pg_advisory_lock(@key::bigint);

-- name: TemplateComplete :one
select datistemplate from pg_catalog.pg_database where datname = @name::text;

-- name: TemplatesOf :many
select datname::text from pg_catalog.pg_database where starts_with(datname, @prefix::text);

-- name: ConnectionsEnd :exec
-- Ends all connections to a database, and waits up to 5 seconds for each of them.
select pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity where datname = @name::text;
