-- Statements that only benchmarks need: they fill their own database in bulk, as a superuser.

-- name: BulkNumbered :exec
-- Documents were numbered up to last.
select setval(pg_get_serial_sequence('cairn.search_docs', 'doc'), @last::bigint);

-- name: BulkSettled :exec
-- The work that autovacuum does later.
vacuum (analyze) cairn.search_docs, cairn.lex_stats, cairn.lex_terms, cairn.lex_docs, cairn.embeddings;

-- name: SearchBytes :one
-- Tables and indexes of search, without the workspace's graph.
select (pg_total_relation_size('cairn.search_docs') + pg_total_relation_size('cairn.lex_terms') + pg_total_relation_size('cairn.lex_docs')
  + pg_total_relation_size(('cairn.embeddings_space_' || @space::smallint)::regclass) - cairn.graph_bytes(@workspace_id::bigint, @space::smallint))::bigint;

-- name: GraphBytes :one
select cairn.graph_bytes(@workspace_id::bigint, @space::smallint)::bigint;
