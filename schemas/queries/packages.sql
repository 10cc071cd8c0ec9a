-- name: PackageTouch :exec
-- Before an upload: from here the collector waits again. A live package stays live.
insert into packages (workspace_id, sha256, key, bytes) values (@workspace_id, @sha256, @key, @bytes)
on conflict (workspace_id, sha256) do update set touched_at = now(),
  state = case packages.state when 'live' then 'live' else 'pending' end;

-- name: PackageLive :execrows
update packages set state = 'live' where workspace_id = @workspace_id and sha256 = @sha256 and state in ('pending', 'live');

-- name: PackagesIdle :many
-- System role.
select workspace_id, sha256, state from packages where state <> 'live' and touched_at < now() - @grace::interval order by touched_at limit @max_rows;

-- name: PackageCondemn :execrows
update packages p set state = 'condemned', touched_at = now() where p.workspace_id = @workspace_id and p.sha256 = @sha256 and p.state = 'pending'
  and p.touched_at < now() - @grace::interval
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256);

-- name: PackageDelete :one
delete from packages p where p.workspace_id = @workspace_id and p.sha256 = @sha256 and p.state = 'condemned' and p.touched_at < now() - @grace::interval
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256)
returning p.key;

-- name: PackageKeys :many
select key from packages where workspace_id = @workspace_id order by key;
