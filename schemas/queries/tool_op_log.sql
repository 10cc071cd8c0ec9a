-- name: OpBegin :execrows
insert into tool_op_log (workspace_id, op_id, args_sha) values (@workspace_id, @op_id, @args_sha)
on conflict (workspace_id, op_id) do nothing;

-- name: OpGet :one
select args_sha, result from tool_op_log where workspace_id = @workspace_id and op_id = @op_id;

-- name: OpEnd :execrows
update tool_op_log set result = @result where workspace_id = @workspace_id and op_id = @op_id;
