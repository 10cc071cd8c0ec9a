-- +goose Up
-- The key of a target becomes its ID, compared byte by byte after Unicode NFC. Until now it was the
-- folded name, so that users "ab" and "A-B" shared one target. The folded form stays as match_key: a
-- name that a person or a model wrote in a text finds a target by it.

-- The key by which the index of words filters a field, as lexical.Key: FNV-1a with 32 bits.
-- +goose StatementBegin
create function cairn.filter_key(field text, value text) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare bytes bytea := convert_to(field || ':' || value, 'UTF8'); h bigint := 2166136261;
begin
  for i in 0 .. length(bytes) - 1 loop
    h := ((h # get_byte(bytes, i)) * 16777619) & 4294967295;
  end loop;
  return 1000000000 + h % (2147483647 - 1000000000 + 1);
end $$;
-- +goose StatementEnd

-- The owner without forced policies sees the rows of all workspaces.
-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memory_targets', 'memories', 'memory_revisions', 'memory_leases', 'search_docs', 'lex_docs', 'lex_terms', 'workspaces'] loop
    execute format('alter table %I no force row level security', t);
  end loop;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
begin
  create temporary table renamed on commit drop as
    select workspace_id, type, target_key as old_key, normalize(target, NFC) as new_key, match_key, created_at, last_used_at from memory_targets;
  update memory_targets t set target_key = r.new_key, target = r.new_key from renamed r
  where t.workspace_id = r.workspace_id and t.type = r.type and t.target_key = r.old_key and (t.target_key <> r.new_key or t.target <> r.new_key);
  update memory_leases l set target_key = r.new_key from renamed r
  where l.workspace_id = r.workspace_id and l.type = r.type and l.target_key = r.old_key and r.old_key <> r.new_key;

  update memories set metadata = jsonb_set(metadata, '{mem0}', (select jsonb_object_agg(key, case when jsonb_typeof(value) = 'string' and key in ('user_id', 'agent_id', 'app_id', 'run_id')
    then to_jsonb(normalize(value #>> '{}', NFC)) else value end) from jsonb_each(metadata -> 'mem0')))
  where jsonb_typeof(metadata -> 'mem0') = 'object' and (metadata -> 'mem0')::text is not nfc normalized;

  -- A memory of a mem0 client belongs to the ID that the client named; another memory to the ID of its target.
  create temporary table moved on commit drop as
    select m.workspace_id, m.id, m.type, m.target as old_key, coalesce(o.named, r.new_key) as new_key, r.match_key, r.created_at, r.last_used_at
    from memories m join renamed r on r.workspace_id = m.workspace_id and r.type = m.type and r.old_key = m.target
    left join lateral (select coalesce(nullif(m.metadata -> 'mem0' ->> 'user_id', ''), nullif(m.metadata -> 'mem0' ->> 'agent_id', ''),
      nullif(m.metadata -> 'mem0' ->> 'app_id', ''), nullif(m.metadata -> 'mem0' ->> 'run_id', '')) as id) n on true
    left join lateral (select n.id as named where lower(regexp_replace(normalize(n.id, NFKC), '[[:space:]_.''’·-]', '', 'g')) = lower(r.match_key)) o on true;
  delete from moved where old_key = new_key;
  insert into memory_targets (workspace_id, type, target_key, match_key, target, created_at, last_used_at)
  select distinct on (workspace_id, type, new_key) workspace_id, type, new_key, match_key, new_key, created_at, last_used_at from moved
  on conflict (workspace_id, type, target_key) do nothing;
  update memories m set target = v.new_key from moved v where m.workspace_id = v.workspace_id and m.id = v.id;

  -- Summaries list the targets of their sessions as type/key.
  update memories m set targets = array(select coalesce((select r.type || '/' || r.new_key from renamed r where r.workspace_id = m.workspace_id and r.type || '/' || r.old_key = t), t) from unnest(m.targets) t)
  where cardinality(m.targets) > 0;
  update memory_revisions m set targets = array(select coalesce((select r.type || '/' || r.new_key from renamed r where r.workspace_id = m.workspace_id and r.type || '/' || r.old_key = t), t) from unnest(m.targets) t)
  where cardinality(m.targets) > 0;

  -- The index of words filters memories by their target.
  update search_docs d set target = v.new_key from moved v where d.workspace_id = v.workspace_id and d.kind = 'memory' and d.owner_id = v.id;
  update lex_docs l set keys = array(select distinct k from unnest(array_append(array_remove(l.keys, l.workspace_id << 32 | cairn.filter_key('target', v.old_key)),
    l.workspace_id << 32 | cairn.filter_key('target', v.new_key))) k order by k)
  from moved v join search_docs d on d.workspace_id = v.workspace_id and d.kind = 'memory' and d.owner_id = v.id
  where l.workspace_id = d.workspace_id and l.doc = d.doc;
  insert into lex_terms (workspace_id, term, df) select distinct workspace_id, cairn.filter_key('target', new_key)::int, 0 from moved
  on conflict (workspace_id, term) do nothing;
  perform cairn.recount_terms(w.workspace_id) from (select distinct workspace_id from moved) w;
  delete from lex_terms t using moved v where t.workspace_id = v.workspace_id and t.term = cairn.filter_key('target', v.old_key)::int and t.df <= 0 and t.speakers <= 0;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memory_targets', 'memories', 'memory_revisions', 'memory_leases', 'search_docs', 'lex_docs', 'lex_terms', 'workspaces'] loop
    execute format('alter table %I force row level security', t);
  end loop;
end $$;
-- +goose StatementEnd
drop function cairn.filter_key(text, text);
alter table memory_targets drop column aliases;
