-- name: AttachmentPutEvent :exec
-- Stores a file of an event.
insert into attachments (workspace_id, event_id, position, sha256, kind, type, bytes, content)
values (@workspace_id, @event_id, @position, sha256(@content::bytea), @kind, @type, octet_length(@content::bytea), @content::bytea);

-- name: AttachmentPut :exec
-- Stores a file of a message.
insert into attachments (workspace_id, conversation_id, turn, seq, position, sha256, kind, type, bytes, content)
values (@workspace_id, @conversation_id, @turn, @seq, @position, sha256(@content::bytea), @kind, @type, octet_length(@content::bytea), @content::bytea);

-- name: AttachmentMove :exec
-- Makes a file of an event one of a message. A file that has expired is not moved.
update attachments set event_id = null, conversation_id = @conversation_id, turn = @turn, seq = @seq, position = @position
where workspace_id = @workspace_id and event_id = @event_id and position = @was;

-- name: AttachmentContent :one
select content from attachments where workspace_id = @workspace_id and sha256 = @sha256 and octet_length(content) > 0 limit 1;

-- name: AttachmentsOf :many
-- The files of the messages of the turns after one turn up to another.
select id, sha256, kind, type, bytes, turn, seq, position, problem, (octet_length(content) = 0)::boolean as emptied from attachments
where workspace_id = @workspace_id and conversation_id = @conversation_id and turn > @after_turn::int and turn <= @to_turn::int
  and expires_at > now() + interval '1 day' -- a request can be repeated for a day
order by seq, position;

-- name: AttachmentEnd :exec
-- The content of a recording is deleted when its words are known, or cannot be.
update attachments set content = '', problem = @problem where workspace_id = @workspace_id and id = @id;

-- name: AttachmentsWithdraw :exec
-- The files of a message that its user has deleted.
delete from attachments where workspace_id = @workspace_id and conversation_id = @conversation_id and seq = @seq;

-- name: MessageTranscribe :one
select cairn.transcribe_message(@conversation_id::bigint, @seq::int, @was::text, @becomes::text)::int as n;

-- name: AttachmentsPurge :execrows
-- System role: deletes expired files, in parts.
delete from attachments a where (a.workspace_id, a.id) in (select e.workspace_id, e.id from attachments e where e.expires_at < now() limit @max_rows) and a.expires_at < now();

-- name: AttachmentsDrop :exec
-- The files of handled events that no message has.
delete from attachments where workspace_id = @workspace_id and event_id = any(@events::bigint[]);
