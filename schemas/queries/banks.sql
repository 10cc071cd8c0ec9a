-- name: BankPut :one
insert into banks (workspace_id, name) values (@workspace_id, @name)
on conflict (workspace_id, name) do update set head = banks.head returning id, head, frozen_at;

-- name: BankGet :one
select * from banks where workspace_id = @workspace_id and name = @name;

-- name: BankByID :one
select * from banks where workspace_id = @workspace_id and id = @id;

-- name: BanksList :many
select b.name, b.head, b.frozen_at, coalesce(cardinality(v.members), 0)::int as skills, coalesce(v.action, '')::text as action, coalesce(v.snapshot_sha, '')::text as snapshot_sha, v.created_at,
  (select count(*) from cases c where c.workspace_id = b.workspace_id and c.bank_id = b.id and c.state = 'open' and c.failures > 0)::bigint as open_cases
from banks b left join bank_versions v on v.workspace_id = b.workspace_id and v.bank_id = b.id and v.number = b.head
where b.workspace_id = @workspace_id order by b.name;

-- name: BankAdvance :execrows
update banks set head = @number where workspace_id = @workspace_id and id = @id and head = @base and frozen_at is null;

-- name: BankFreeze :execrows
-- Freezes or unfreezes a bank that is not so already.
update banks set frozen_at = case when @frozen::boolean then now() end
where workspace_id = @workspace_id and id = @id and (frozen_at is not null) <> @frozen::boolean;

-- name: BankVersionPut :exec
insert into bank_versions (workspace_id, bank_id, number, parent, action, bank_sha, capacity, members, fresh, policy_sha, optimizer_sha, snapshot_sha, reason, run_id, prompts)
values (@workspace_id, @bank_id, @number, sqlc.narg('parent'), @action, @bank_sha, @capacity, @members::text[], @fresh::text[], @policy_sha, @optimizer_sha, @snapshot_sha, @reason, sqlc.narg('run_id'), @prompts);

-- name: BankVersionAt :one
select * from bank_versions where workspace_id = @workspace_id and bank_id = @bank_id and number = @number;

-- name: BankVersions :many
select * from bank_versions where workspace_id = @workspace_id and bank_id = @bank_id
  and (@before::int = 0 or number < @before::int) order by number desc limit @max_rows;

-- name: MemorySkillPut :exec
insert into memory_skills (workspace_id, id, body) values (@workspace_id, @id, @body) on conflict (workspace_id, id) do nothing;

-- name: MemorySkillsByID :many
select id, body from memory_skills where workspace_id = @workspace_id and id = any(@ids::text[]) order by id;

-- name: PolicyPut :exec
insert into policies (workspace_id, sha, kind, blob) values (@workspace_id, @sha, @kind, @blob) on conflict (workspace_id, sha) do nothing;

-- name: PolicyGet :one
select blob from policies where workspace_id = @workspace_id and sha = @sha and kind = @kind;

-- name: PolicyDrop :exec
-- Unless a version refers to it.
delete from policies p where p.workspace_id = @workspace_id and p.sha = any(@shas::text[])
  and not exists (select from bank_versions v where v.workspace_id = p.workspace_id and (v.policy_sha = p.sha or v.optimizer_sha = p.sha));
