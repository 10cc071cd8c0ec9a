-- name: replies
-- The message and the reply of each turn.
select u.content, coalesce(a.content, '') from cairn.turns t
join cairn.messages u on u.workspace_id = t.workspace_id and u.conversation_id = t.conversation_id and u.seq = t.first_seq
left join cairn.messages a on a.workspace_id = t.workspace_id and a.conversation_id = t.conversation_id and a.seq = t.reply_seq;
