-- name: attempts
-- Repeated attempts to send a message, by account.
select r.account, coalesce(sum(p.attempts - 1), 0)::bigint from cairn.delivery_parts p
join cairn.deliveries d on d.workspace_id = p.workspace_id and d.id = p.delivery_id
join cairn.channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where p.attempts > 1 group by r.account;

-- name: open
-- Deliveries that are not sent, and replies that are being written.
select count(*) from cairn.deliveries where state in ('streaming', 'ready');

-- name: partial
-- Replies that were messages before they were complete.
select count(*) from cairn.deliveries where partial_id is not null;

-- name: dead
select count(*) from cairn.deliveries where state = 'dead';

-- name: late
-- Messages of turns that ended because their time was over.
select m.content from cairn.turns t
join cairn.messages m on m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and m.turn = t.number
where t.reason = 'wall_clock' and m.role = 'user';
