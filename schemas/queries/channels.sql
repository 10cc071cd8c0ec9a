-- name: AccountPut :exec
-- System role.
insert into channel_accounts (name, platform) values (@name, @platform)
on conflict (name) do update set platform = excluded.platform;

-- name: AccountLease :many
-- System role. Takes or extends the lease of an account that is free, expired or held, and returns the cursor.
update channel_accounts set holder = @holder, lease_until = now() + @lease::interval
where name = @name and (holder is null or holder = @holder or lease_until <= now())
returning cursor;

-- name: AccountRelease :exec
update channel_accounts set holder = null, lease_until = '-infinity' where name = @name and holder = @holder;

-- name: AccountCursor :execrows
-- System role. Stores nothing if another process has taken the account.
update channel_accounts set cursor = @cursor where name = @name and holder = @holder;

-- name: IdentityFind :one
-- System role.
select i.workspace_id, i.role, w.key, w.external_id, w.state from identities i join workspaces w on w.id = i.workspace_id
where i.account = @account and i.user_id = @user_id;

-- name: IdentityFirst :one
-- System role. Whether an account has no administrator yet.
select not exists (select from identities where account = @account and role = 'admin') as first;

-- name: IdentityPut :execrows
insert into identities (account, user_id, workspace_id, name, role) values (@account, @user_id, @workspace_id, @name, @role)
on conflict (account, user_id) do nothing;

-- name: IdentityRole :execrows
update identities set role = @role where workspace_id = @workspace_id and account = @account and user_id = @user_id;

-- name: IdentitiesList :many
-- System role.
select i.account, i.user_id, i.name, i.role, i.created_at, w.external_id as workspace from identities i
join workspaces w on w.id = i.workspace_id order by i.account, i.created_at, i.user_id;

-- name: PairingPut :one
-- System role. Stores a code for a user; one that is still valid is kept. Returns nothing if the account has too
-- many codes, or if the user got one within the last hour.
insert into pairings (account, user_id, name, code, expires_at)
select @account, @user_id, @name, @code, now() + interval '1 hour'
where (select count(*) from pairings p where p.account = @account and p.user_id <> @user_id and p.expires_at > now()) < @most::int
on conflict (account, user_id) do update set name = excluded.name, code = excluded.code, expires_at = excluded.expires_at, told_at = now()
  where pairings.told_at <= now() - interval '1 hour'
returning code;

-- name: PairingsList :many
-- System role.
select account, user_id, name, code, expires_at from pairings where expires_at > now() order by account, expires_at;

-- name: PairingDelete :exec
-- System role.
delete from pairings where account = @account and user_id = @user_id;

-- name: RouteOpen :one
-- Finds or makes the route of a place.
insert into channel_routes (workspace_id, account, chat, thread, conversation)
values (@workspace_id, @account, @chat, @thread, @conversation)
on conflict (workspace_id, account, chat, thread) do update set paused = ''
returning id;

-- name: RouteBase :one
select account, chat, thread from channel_routes where workspace_id = @workspace_id and id = @id;

-- name: RouteNext :exec
-- Begins another conversation in a place.
update channel_routes set conversations = conversations + 1, conversation = @name::text || '#' || (conversations + 1)
where workspace_id = @workspace_id and id = @id;

-- name: EventPut :one
-- Returns nothing if the event is stored already.
insert into channel_events (workspace_id, account, key, route_id, body) values (@workspace_id, @account, @key, @route_id, @body)
on conflict (workspace_id, account, key) do nothing returning id;

-- name: RouteLock :one
-- Keeps events of the route from being stored until the transaction ends.
select conversation from channel_routes where workspace_id = @workspace_id and id = @id for no key update;

-- name: EventNext :one
-- The first event of a route that is not handled.
select id, body from channel_events where workspace_id = @workspace_id and route_id = @route_id and state = 'received'
order by id limit 1;

-- name: EventHandled :many
-- Returns the route, unless the event was handled before.
update channel_events set state = 'handled', body = '{}' where workspace_id = @workspace_id and id = @id and state = 'received'
returning route_id;

-- name: DeliveryPut :one
-- Returns nothing if the source has a delivery.
insert into deliveries (workspace_id, route_id, source, body) values (@workspace_id, @route_id, @source, @body)
on conflict (workspace_id, source) do nothing returning id;

-- name: DeliveryOfTurn :one
-- Makes the delivery of the reply of an ended turn, if its conversation belongs to a chat.
insert into deliveries (workspace_id, route_id, source, body)
select @workspace_id, r.id, 'turn/' || @run_id::text, jsonb_build_object('text', m.content)
from conversations c
join channel_routes r on r.workspace_id = c.workspace_id and r.conversation = c.external_id
join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.seq = @seq::int
where c.workspace_id = @workspace_id and c.id = @conversation_id and m.content <> ''
on conflict (workspace_id, source) do nothing returning route_id;

-- name: RouteOpenWork :one
select r.account, (r.paused = '' and exists (select from deliveries d where d.workspace_id = r.workspace_id and d.route_id = r.id and d.state = 'ready'))::boolean as open
from channel_routes r where r.workspace_id = @workspace_id and r.id = @id;

-- name: DeliveryNext :one
-- The first delivery of a route that is not sent.
select d.id, greatest(0, extract(epoch from d.not_before - now()))::float8 as wait_seconds from deliveries d
join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and d.route_id = @route_id and d.state = 'ready' and r.paused = '' order by d.id limit 1;

-- name: DeliveryGet :one
select d.id, d.body, d.state, r.id as route_id, r.account, r.chat, r.thread from deliveries d
join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and d.id = @id;

-- name: PartsPut :exec
insert into delivery_parts (workspace_id, delivery_id, number, body)
select @workspace_id, @delivery_id, o.number, o.body from unnest(@bodies::text[]) with ordinality o (body, number)
on conflict (workspace_id, delivery_id, number) do nothing;

-- name: PartsCount :one
select count(*) from delivery_parts where workspace_id = @workspace_id and delivery_id = @delivery_id;

-- name: PartNext :one
-- The first message of a delivery that was not sent. Counts the attempt.
update delivery_parts p set attempts = p.attempts + 1
where p.workspace_id = @workspace_id and p.delivery_id = @delivery_id and p.number = (
  select min(n.number) from delivery_parts n where n.workspace_id = @workspace_id and n.delivery_id = @delivery_id and n.sent_at is null)
returning p.number, p.body, p.attempts;

-- name: PartRefused :exec
-- The platform did not accept the message, so the attempt had no effect.
update delivery_parts set attempts = attempts - 1
where workspace_id = @workspace_id and delivery_id = @delivery_id and number = @number and sent_at is null;

-- name: PartSent :exec
update delivery_parts set message_id = @message_id, sent_at = now(), body = ''
where workspace_id = @workspace_id and delivery_id = @delivery_id and number = @number and sent_at is null;

-- name: DeliveryEnd :one
update deliveries set state = @state, reason = @reason, ended_at = now(), body = case when @state::text = 'dead' then body else '{}' end
where workspace_id = @workspace_id and id = @id and state = 'ready' returning route_id;

-- name: RoutePause :exec
update channel_routes set paused = @paused where workspace_id = @workspace_id and id = @id;

-- name: DeliveryRetry :one
update deliveries set state = 'ready', reason = '', ended_at = null where workspace_id = @workspace_id and id = @id and state = 'dead'
returning route_id;

-- name: DeliveryDrop :execrows
update deliveries set state = 'dropped', body = '{}', ended_at = now() where workspace_id = @workspace_id and id = @id and state in ('ready', 'dead');

-- name: DeliveriesList :many
select d.id, d.source, d.state, d.reason, d.created_at, d.ended_at, r.account, r.chat, r.thread,
  coalesce((select max(p.attempts) from delivery_parts p where p.workspace_id = d.workspace_id and p.delivery_id = d.id), 0)::int as attempts
from deliveries d join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and (@state::text = '' or d.state = @state) order by d.id desc limit @max_rows;
