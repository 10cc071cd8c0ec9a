-- Workspaces whose task or day is in a wrong state after the sweep of a date.
select count(*) from workspaces w join scheduled_tasks t on t.workspace_id = w.id, lateral (select split_part(w.external_id, ' ', 2)::int % $2::int = 0 as talks) x
where w.key like 'wbench%' and (
  t.slot_key is distinct from $1::text or t.lease_until is not null or t.due_at <= now()
  or t.slot_outcome <> case when x.talks then 'started' else 'empty' end
  or (select count(*) from reflection_runs r where r.workspace_id = w.id and r.local_date = $1::date and r.status = 'empty') <> case when x.talks then 0 else 1 end)
