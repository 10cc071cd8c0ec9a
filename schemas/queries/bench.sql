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

-- name: WordBytes :one
-- The index of words with its indexes.
select pg_total_relation_size('cairn.lex_docs')::bigint;

-- name: DocsToEmbed :many
-- Documents after a number, for measurements that embed all of them at once.
select doc, text from search_docs d where d.workspace_id = @workspace_id and d.doc > @after and d.status = 'active'
  and not exists (select from embeddings e where e.workspace_id = @workspace_id and e.doc = d.doc and e.space = @space)
order by doc limit @max_rows::int;

-- name: BulkNext :one
-- The number that the next document can have.
select (coalesce(max(doc), 0) + 1)::bigint from search_docs;
