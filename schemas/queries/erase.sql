-- Every function except DerivedOf runs as cairn_erase; the system role may call it.

-- name: EraseAccept :one
select cairn.erase_accept(@workspace::bigint, sqlc.narg(conversation)::bigint, @derived::text)::bigint;

-- name: EraseGet :one
select * from erasures where id = @id;

-- name: ErasuresOpen :many
select id, workspace, workspace_key, conversation from erasures where state = 'accepted' order by id limit @max_rows;

-- name: EraseEnter :exec
select id from cairn.erase_enter(@id::bigint);

-- name: EraseTables :many
select tbl::text as tbl, place::int as place from cairn.erase_tables() order by 2;

-- name: EraseRows :one
select cairn.erase_rows(@id::bigint, @tbl::text, @most::int)::bigint;

-- name: EraseDerived :exec
select cairn.erase_derived(@id::bigint), cairn.erase_identity(@id::bigint);

-- name: EraseConversation :exec
select cairn.erase_conversation(@id::bigint);

-- name: ErasePackages :many
select sha256::bytea as sha256, key::text as key from cairn.erase_packages(@id::bigint, @after::bytea, @most::int);

-- name: ErasePackageRows :exec
select cairn.erase_package_rows(@id::bigint, @gone::bytea[]);

-- name: EraseNote :exec
select cairn.erase_note(@id::bigint, sqlc.narg(objects)::int, sqlc.narg(objects_left)::int, @stopped::text[], sqlc.narg(workflows_left)::int);

-- name: EraseRowsOf :many
select tbl::text as tbl, n::bigint as n from cairn.erase_rows_of(@workspace::bigint, sqlc.narg(conversation)::bigint);

-- name: EraseEnd :one
select cairn.erase_end(@id::bigint)::boolean;

-- name: DerivedOf :many
select kind::text as kind, id::bigint as id, ref::text as ref, sole::boolean as sole from cairn.derived_of(@workspace_id::bigint, @conversation::bigint) order by 1, 2;
