-- +goose Up
-- What was deleted can be taken back for some days, and is gone after them: its
-- versions, files and package, its places in the index, and the prompts that were
-- frozen with it. What was said in conversations stays; erasing those is erase's.

alter table workspaces add column undo_days int not null generated always as (coalesce((settings -> 'limits' ->> 'undo_days')::int, 7)) stored;
grant select (undo_days) on workspaces to cairn_system;
create index skills_gone on skills (deleted_at) where deleted_at is not null;
create index memories_gone on memories (updated_at) where status = 'removed';
create policy skills_system_gone on skills for select to cairn_system using (deleted_at is not null);
create policy memories_system_gone on memories for select to cairn_system using (status = 'removed');
grant select (workspace_id, status, updated_at) on memories to cairn_system;
grant update (draft, package) on distill_tasks to cairn_erase;

grant create on schema cairn to cairn_erase;
set local role cairn_erase; -- the functions are its own
-- +goose StatementBegin
-- Takes what was deleted longer ago than the entered workspace's undo_days away for
-- good, up to most skills and most memories, and returns how many there were.
create function cairn.erase_deleted(most int) returns int
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  ws bigint := nullif(current_setting('cairn.workspace', true), '')::bigint;
  since timestamptz := now() - make_interval(days => (select w.undo_days from workspaces w where w.id = ws));
  skill_ids bigint[]; memory_ids bigint[]; names text[]; docs bigint[]; zips bytea[];
begin
  skill_ids := array(select id from skills where workspace_id = ws and deleted_at <= since order by id limit most for update skip locked);
  memory_ids := array(select id from memories where workspace_id = ws and status = 'removed' and updated_at <= since order by id limit most for update skip locked);
  if cardinality(skill_ids) + cardinality(memory_ids) = 0 then return 0; end if;
  docs := array(select doc from search_docs where workspace_id = ws and (kind = 'skill' and owner_id = any(skill_ids) or kind = 'memory' and owner_id = any(memory_ids)));
  perform from lex_terms t where t.workspace_id = ws and t.term in (select unnest(d.terms) from search_docs d where d.workspace_id = ws and d.doc = any(docs)) order by t.term for update;
  perform cairn.erase_docs(null, ws, docs);

  -- Prompts tell of skills, and of memories that stand in them; a run under way ends with the one it has.
  if cardinality(skill_ids) > 0 or exists (select from memories where workspace_id = ws and id = any(memory_ids) and type in ('core', 'profile')) then
    update frozen_sessions s set revoked_at = coalesce(s.revoked_at, now()) where s.workspace_id = ws;
    update frozen_sessions s set rendered = '', tools = '[]' where s.workspace_id = ws
      and not exists (select from runs r where r.workspace_id = ws and r.session_id = s.id and r.status <> 'ended');
  end if;

  -- With a memory go those that were merged into it.
  with recursive gone as (
    select m.id, m.external_id from memories m where m.workspace_id = ws and m.id = any(memory_ids)
    union select m.id, m.external_id from memories m join gone g on m.superseded_by = g.external_id where m.workspace_id = ws and m.status = 'superseded'
  ) select array_agg(id), array_agg(external_id) into memory_ids, names from gone;
  delete from pending_memories where workspace_id = ws and base ?| names;
  delete from note_recalls where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_views where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_refs where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_revisions where workspace_id = ws and memory_id = any(memory_ids);
  delete from memories where workspace_id = ws and id = any(memory_ids);

  zips := array(select package_sha256 from skill_versions where workspace_id = ws and skill_id = any(skill_ids)
    union select decode(version ->> 'PackageSHA', 'hex') from pending_writes where workspace_id = ws and jsonb_typeof(version) = 'object' and skill_id = any(skill_ids));
  delete from distill_files f using distill_tasks t where t.workspace_id = ws and t.skill_id = any(skill_ids) and t.stage = 'ended'
    and f.workspace_id = ws and f.run_id = t.run_id and f.task_key = t.task_key;
  update distill_tasks set draft = null, package = null where workspace_id = ws and skill_id = any(skill_ids) and stage = 'ended';
  delete from pending_writes where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_uses where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_views where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_sources where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_files where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_versions where workspace_id = ws and skill_id = any(skill_ids);
  delete from skills where workspace_id = ws and id = any(skill_ids);
  -- Their objects go with the collector's next pass.
  update packages p set state = 'condemned', touched_at = 'epoch' where p.workspace_id = ws and p.sha256 = any(zips)
    and not exists (select from skill_versions v where v.workspace_id = ws and v.package_sha256 = p.sha256)
    and not exists (select from pending_writes w where w.workspace_id = ws and w.state = 'pending' and jsonb_typeof(w.version) = 'object' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);
  return cardinality(skill_ids) + coalesce(cardinality(memory_ids), 0);
end $$;

-- Where nothing is kept, a delete is for good when its transaction commits.
create function cairn.erase_deleted_at_once() returns trigger
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
begin
  if exists (select from workspaces where id = new.workspace_id and undo_days = 0) then
    while cairn.erase_deleted(1000) > 0 loop end loop;
  end if;
  return null;
end $$;
-- +goose StatementEnd
revoke all on function cairn.erase_deleted, cairn.erase_deleted_at_once from public;
grant execute on function cairn.erase_deleted to cairn_app;
grant execute on function cairn.erase_deleted_at_once to cairn_owner;
set local role cairn_owner;
revoke create on schema cairn from cairn_erase;
create constraint trigger skills_deleted after update of deleted_at on skills deferrable initially deferred for each row
  when (new.deleted_at is not null and old.deleted_at is null) execute function cairn.erase_deleted_at_once();
create constraint trigger memories_removed after update of status on memories deferrable initially deferred for each row
  when (new.status = 'removed' and old.status <> 'removed') execute function cairn.erase_deleted_at_once();

-- Memories were kept however long ago they were deleted. Their days begin now.
set local role cairn_migrator;
-- +goose StatementBegin
do $$
declare due bigint; n bigint;
begin
  select count(*) into due from cairn.memories where status = 'removed';
  update cairn.memories set updated_at = now() where status = 'removed';
  get diagnostics n = row_count;
  assert n = due, format('%s of %s deleted memories are kept for their days', n, due);
end $$;
-- +goose StatementEnd
set local role cairn_owner;
