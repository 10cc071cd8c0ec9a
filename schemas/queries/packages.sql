-- name: PackageTouch :execrows
-- Before an upload: the collector's grace starts again. A live package stays live. A package that
-- is being deleted, by the collector or by an erasure, stays unchanged.
insert into packages (workspace_id, sha256, key, bytes) values (@workspace_id, @sha256, @key, @bytes)
on conflict (workspace_id, sha256) do update set touched_at = now(),
  state = case packages.state when 'live' then 'live' else 'pending' end
where packages.state <> 'deleting' and not (packages.state = 'condemned' and packages.touched_at = 'epoch');

-- name: PackageLive :execrows
update packages set state = 'live' where workspace_id = @workspace_id and sha256 = @sha256 and state in ('pending', 'live');

-- name: PackagesIdle :many
-- System role.
select workspace_id, sha256, state from packages where state <> 'live' and touched_at < now() - @grace::interval order by touched_at limit @max_rows;

-- name: PackageCondemn :execrows
update packages p set state = 'condemned', touched_at = now() where p.workspace_id = @workspace_id and p.sha256 = @sha256 and p.state = 'pending'
  and p.touched_at < now() - @grace::interval
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256);

-- name: PackageDeleting :one
-- If a collector stops half-way, another continues after the grace.
update packages p set state = 'deleting', touched_at = now() where p.workspace_id = @workspace_id and p.sha256 = @sha256
  and p.state in ('condemned', 'deleting') and p.touched_at < now() - @grace::interval
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256)
returning p.key;

-- name: PackageForget :exec
delete from packages where workspace_id = @workspace_id and sha256 = @sha256 and state = 'deleting';

-- name: PackageAbandon :execrows
-- A package that was uploaded for a task that has since been erased.
update packages p set state = 'deleting', touched_at = now() where p.workspace_id = @workspace_id and p.sha256 = @sha256 and p.state = 'pending'
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256)
  and not exists (select from distill_tasks t where t.workspace_id = p.workspace_id and t.run_id = @run_id and t.task_key = @task_key);

-- name: PackageThere :one
select exists (select from packages where workspace_id = @workspace_id and sha256 = @sha256);

-- name: PackageKeys :many
select key from packages where workspace_id = @workspace_id order by key;
