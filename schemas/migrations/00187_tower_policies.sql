-- +goose Up
-- A policy is an actor-critic model with the head "tower". A bank whose active policy is of another kind (a Thompson
-- bandit, or the head "concat") gets a version with the same skills and prompts, and the latest policy of its versions
-- that can still be read. If there is none, its next use makes a version with the shipped skills.
alter table banks no force row level security;
alter table bank_versions no force row level security;
alter table policies no force row level security;

-- A blob has its type in 8 bytes, two numbers of 4 bytes, and its header.
with towers as (
  select v.workspace_id, v.bank_id, v.number, v.policy_sha, v.optimizer_sha from bank_versions v
  join policies p on p.workspace_id = v.workspace_id and p.sha = v.policy_sha
  where substring(p.blob for 8) = 'cairnpol'::bytea and substring(p.blob from 17 for 15) = '{"head":"tower"'::bytea
), lost as (
  select v.workspace_id, v.bank_id, v.number, v.bank_sha, v.capacity, v.members, v.fresh, v.prompts, t.policy_sha, t.optimizer_sha,
    (select max(n.number) from bank_versions n where n.workspace_id = v.workspace_id and n.bank_id = v.bank_id) + 1 as next
  from banks b join bank_versions v on v.workspace_id = b.workspace_id and v.bank_id = b.id and v.number = b.head
  left join lateral (select * from towers t where t.workspace_id = b.workspace_id and t.bank_id = b.id order by t.number desc limit 1) t on true
  where not exists (select from towers t where t.workspace_id = b.workspace_id and t.bank_id = b.id and t.number = b.head)
), made as (
  insert into bank_versions (workspace_id, bank_id, number, parent, action, bank_sha, capacity, members, fresh, prompts, policy_sha, optimizer_sha, snapshot_sha, reason)
  select workspace_id, bank_id, next, number, 'rollback', bank_sha, capacity, members, fresh, prompts, policy_sha, optimizer_sha,
    encode(sha256('snapshot'::bytea || '\x00' || bank_sha::bytea || '\x00' || policy_sha::bytea || '\x00' || optimizer_sha::bytea), 'hex'),
    format('the kind of the policy of version %s was removed', number)
  from lost where policy_sha is not null
)
update banks b set head = case when lost.policy_sha is null then 0 else lost.next end
from lost where lost.workspace_id = b.workspace_id and lost.bank_id = b.id;

alter table policies force row level security;
alter table bank_versions force row level security;
alter table banks force row level security;
