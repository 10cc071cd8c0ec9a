package erase_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/testkit"
)

// Words that occur only in what belongs to one person.
const (
	bens = "quibblesnort"
	anns = "dandelion"
)

// people is a workspace with memories of Ben and Ann: conversations of their own, one in which both
// speak, one without speakers, and all that is derived from them.
type people struct {
	*erasing
	long  *memories.LongTermService
	ws    access.Workspace
	notes map[string]string // IDs of memories by a name
}

// settle fills a workspace. Both workspaces of a test have the same people.
func settle(e *erasing, ws access.Workspace) *people {
	e.t.Helper()
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := e.Space(e.t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(e.t, err)
	e.db.EmbedTurns(space, func(texts []string) [][]float32 {
		out, err := embedder.Embed(e.t.Context(), texts)
		testkit.Must(e.t, err)
		return out
	})
	p := &people{erasing: e, ws: ws, notes: map[string]string{}, long: &memories.LongTermService{Ports: memories.Ports{
		Store: e.Store, Embedder: embedder, Space: space,
		Finder: search.Finder{Index: e.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}}
	p.own()
	p.shared()
	p.derived()
	p.runs()
	p.secondSpace()
	return p
}

func (p *people) actor(t memory.Type, target, history string) agent.Actor {
	a := p.Actor(agent.OriginReflection)
	a.Workspace = p.ws.ID
	a.Subject = agent.MemoryScope{Type: string(t), Target: target, History: history, Author: "m@1"}
	return a
}

// remember adds a memory and keeps its ID under a name.
func (p *people) remember(name string, a agent.Actor, content string, metadata memory.Metadata) {
	p.t.Helper()
	out, err := p.long.AddMemories(p.t.Context(), a, []memories.NewMemory{{Content: content, Metadata: metadata}})
	testkit.Must(p.t, err)
	p.notes[name] = out[0].ID
}

func (p *people) session(lines ...transcript.Message) memory.History {
	p.t.Helper()
	for i := range lines {
		lines[i].Seq = i
		if lines[i].Role == "" {
			lines[i].Role = transcript.User
		}
	}
	h, err := p.long.AddHistory(p.t.Context(), p.actor("", "", ""), lines)
	testkit.Must(p.t, err)
	return h
}

func said(name, text string) transcript.Message { return transcript.Message{Name: name, Content: text} }

// own are sessions that concern one person only.
func (p *people) own() {
	for name, word := range map[string]string{"Ben Ito": bens, "Ann": anns} {
		h := p.session(said("", "I keep a "+word+" in the garden."),
			transcript.Message{Role: transcript.Assistant, Content: "A " + word + ", noted."})
		p.remember(name, p.actor(memory.Personal, name, h.ID), "Keeps a "+word+".", nil)
		p.remember(name+" how", p.actor(memory.Procedural, name, ""), "Feed the "+word+" first.", nil)
		p.remember(name+" gone", p.actor(memory.Personal, name, ""), "Once lost the "+word+".", nil)
		p.remember(name+" merged", p.actor(memory.Personal, name, ""), "Says the "+word+" is fine.", nil)
		p.remember(name+" off", p.actor(memory.Personal, name, ""), "Was told the "+word+" bites.", nil)
		_, err := p.long.AddSummary(p.t.Context(), p.actor("", "", h.ID),
			memories.SummaryArgs{Content: "A session about the " + word + ".",
				Targets: []memory.Task{{Type: memory.Personal, Target: name}}})
		testkit.Must(p.t, err)
		_, err = p.long.DeleteMemories(p.t.Context(), p.actor(memory.Personal, name, ""),
			[]memories.DeleteRequest{{ID: p.notes[name+" gone"]}})
		testkit.Must(p.t, err)
	}
	for status, name := range map[string]string{"superseded": " merged", "quarantined": " off"} {
		for _, who := range []string{"Ben Ito", "Ann"} {
			p.Exec("update memories set status = $2 where workspace_id = $3 and external_id = $1", p.notes[who+name],
				status, p.ws.ID)
		}
	}
	// A model that spells the name in another way means the same target.
	_, err := p.long.AddNamedTargets(p.t.Context(), p.actor("", "", ""),
		[]memories.NewTarget{{Type: memory.Personal, Target: "Ben-Ito"}})
	testkit.Must(p.t, err)
}

// shared are conversations of both: "table" with speakers, "room" without.
func (p *people) shared() {
	p.t.Helper()
	table := p.session(said("Ann", "My "+anns+" blooms."), said("Ben Ito", "My "+bens+" sleeps."),
		transcript.Message{Role: transcript.Assistant, Content: "How nice for both of you."})
	p.remember("table ann", p.actor(memory.Personal, "Ann", table.ID), "Has a blooming "+anns+".", nil)
	p.Exec("update conversations set external_id = 'table', title = 'the '||$2 where workspace_id = $1 and id = $3",
		p.ws.ID, bens, table.Conversation)
	room := p.session(said("", "We met at the lake."))
	p.Exec("update conversations set external_id = 'room' where workspace_id = $1 and id = $2", p.ws.ID,
		room.Conversation)
	for _, name := range []string{"Ben Ito", "Ann"} {
		p.remember("room "+name, p.actor(memory.Personal, name, room.ID), name+" was at the lake.", nil)
	}
	_, err := p.long.AddSummary(p.t.Context(), p.actor("", "", room.ID), memories.SummaryArgs{
		Content: "Two people met at the lake.", Targets: []memory.Task{{Type: memory.Personal, Target: "Ben Ito"},
			{Type: memory.Personal, Target: "Ann"}}})
	testkit.Must(p.t, err)
	// A client of mem0 names Ben as the agent of a memory of Ann.
	p.remember("mem0", p.actor(memory.Personal, "Ann", ""), "Ann prefers mornings.",
		memory.Metadata{"mem0": map[string]any{"user_id": "Ann", "agent_id": "Ben Ito"}})
}

// derived is what derives from single messages: prompt memories, a note, a skill, the soul.
func (p *people) derived() {
	p.t.Helper()
	own := p.conversation(p.ws, p.sessionOf("Ben Ito"))
	table := p.conversation(p.ws, "table")
	for i, m := range []struct {
		kind, target, text string
		conversation       int64
		from, to           int
	}{{"core", "", "The garden has a " + bens, own, 0, 1}, {"profile", "", "Owns a " + bens, own, 0, 0},
		{"note", "2026-01-02", "A day with a " + bens, own, 0, 1}, {"core", "", "A sleeping " + bens, table, 1, 1},
		{"core", "", "Two pets live here", table, 0, 1}, {"profile", "", "Loves a " + anns, table, 0, 0}} {
		p.Exec(`with m as (insert into memories (workspace_id, external_id, type, target, content, content_sha256,
				origin, op_id, conversation_id, from_seq, to_seq)
			values ($1, $2, $3, $4, $5, sha256($2::text::bytea), 'nudge', 'op', $6, $7, $8) returning id)
			insert into memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted, op_id,
				conversation_id, from_seq, to_seq)
			select $1, id, 1, 'add', $5, 'nudge', false, 'op', $6, $7, $8 from m`, p.ws.ID,
			fmt.Sprintf("%016x", 0xabc0+i), m.kind, m.target, m.text, m.conversation, m.from, m.to)
	}
	for _, s := range []struct {
		name    string
		sources [][2]int64 // conversation and message
	}{{"tame-a-" + bens, [][2]int64{{own, 0}, {table, 1}}}, {"keep-pets", [][2]int64{{table, 0}, {table, 1}}},
		{"grow-" + anns, [][2]int64{{table, 0}}}} {
		p.Exec(`with s as (insert into skills (workspace_id, name, head_version, origin)
				values ($1, $2, 1, 'distill') returning id), v as (
			insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body,
				lang, content_sha256, package_sha256, origin)
			select $1, id, 1, 0, $2, $2, $2, 'en', 'x', (select sha256 from packages
				where workspace_id = $1 order by 1 limit 1),
				'distill' from s), f as (
			insert into skill_files (workspace_id, skill_id, version, path, content)
			select $1, id, 1, 'scripts/a.py', $2 from s)
			insert into search_docs (workspace_id, kind, owner_id, status, text)
			select $1, 'skill', id, 'active', $2 from s`, p.ws.ID, s.name)
		for _, at := range s.sources {
			p.Exec(`insert into skill_sources (workspace_id, skill_id, version, conversation_id, from_seq, to_seq)
				select $1, id, 1, $3, $4, $4 from skills where workspace_id = $1 and name = $2`, p.ws.ID, s.name,
				at[0], at[1])
		}
	}
	p.Exec("update lex_stats set docs = docs + 3 where workspace_id = $1", p.ws.ID)
	p.Exec(`insert into soul_versions (workspace_id, version, content, action, origin, op_id, conversation_id,
		from_seq, to_seq) values ($1, 4, 'Answer briefly.', 'append', 'agent', 'op', $2, 0, 0)`, p.ws.ID, own)
	p.Exec(`insert into pending_memories (workspace_id, type, operations, base, adds, gist, reason, origin, tainted,
		op_id, conversation_id, from_seq, to_seq) values ($1, 'core', to_jsonb($3::text), '{}', 1, $3, 'approval',
		'nudge', false, 'op', $2, 1, 1)`, p.ws.ID, table, "Add the "+bens)
}

// sessionOf returns the name of the conversation of a person's own session.
func (p *people) sessionOf(name string) (id string) {
	p.t.Helper()
	testkit.Must(p.t, p.Admin.QueryRow(p.t.Context(), `select c.external_id from conversations c
		join memory_histories h on h.workspace_id = c.workspace_id and h.conversation_id = c.id
		join memories m on m.workspace_id = h.workspace_id and m.history_id = h.id
		where m.workspace_id = $1 and m.external_id = $2`, p.ws.ID, p.notes[name]).Scan(&id))
	return id
}

// runs are runs that have read memories of Ben, or his messages, with their stored requests.
func (p *people) runs() {
	p.t.Helper()
	p.Exec(`insert into conversations (workspace_id, external_id) values ($1, 'office')`, p.ws.ID)
	p.Exec(`insert into messages (workspace_id, conversation_id, seq, external_id, role, content, name)
		values ($1, $2, 0, 'q', 'user', 'What is at the lake?', 'Ann'), ($1, $2, 1, 'a', 'assistant', 'Water.', '')`,
		p.ws.ID, p.conversation(p.ws, "office"))
	for i, r := range []struct{ kind, conversation, text string }{{"retrieve", "", "read " + bens},
		{"turn", "office", "shown " + bens}, {"turn", "table", "heard " + bens},
		{"summarize", "", "Targets:\n- personal(Ben Ito): facts"}, {"turn", "room", "about the lake"}} {
		var conversation *int64
		if r.conversation != "" {
			id := p.conversation(p.ws, r.conversation)
			conversation = &id
		}
		spec := `{"pinned": {"question": "` + r.text + `"}}`
		if r.kind != "retrieve" {
			spec = `{"model": "m"}`
		}
		run := run.NewID()
		p.Exec(`insert into runs (workspace_id, id, kind, business_key, args_sha, conversation_id, spec,
				workflow_id, status, outcome, result)
			values ($1, $7, $2, $3, 'x', $4, $5, 'w', 'ended', 'completed', to_jsonb($6::text))`,
			p.ws.ID, r.kind, fmt.Sprint(i), conversation, spec, strings.ReplaceAll(r.text, "Ben Ito", "x"), run)
		p.Exec(`insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request,
				request_sha, holder, lease_until, reply)
			values ($1, $2, '1', 0, 'done', 'turn', 'm', '{}', array[$3], 'x', gen_random_uuid(), now(), $3)`,
			p.ws.ID, run, r.text)
		if r.kind == "summarize" {
			continue
		}
		p.Exec("insert into agent_steps (workspace_id, run_id, step, content) values ($1, $2, 1, $3)", p.ws.ID, run,
			r.text)
		p.Exec(`insert into agent_calls (workspace_id, run_id, step, position, call_id, tool, class, arguments, result)
			values ($1, $2, 1, 0, 'c', 't', 'fast', '{}', $3)`, p.ws.ID, run, r.text)
		p.Exec("insert into tool_op_log (workspace_id, op_id, args_sha, result) values ($1, $2 || '/1/0', 'x', "+
			"to_jsonb($3::text))", p.ws.ID, run, r.text)
		if conversation != nil {
			p.Exec(`insert into turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha,
					run_id, context, first_seq, status, reason)
				values ($1, $2, 1, 'q', 'answer', 'user', 'x', $3, $4, 0, 'ended', 'final')`, p.ws.ID, conversation,
				run, r.text)
		}
		if i < 2 {
			p.Exec(`insert into memory_views (workspace_id, run_id, memory_id, op_id)
				select $1, $2, id, 'op' from memories where workspace_id = $1 and external_id = $3`, p.ws.ID, run,
				p.notes["Ben Ito"])
		}
		if r.conversation == "table" {
			p.Exec(`insert into compactions (workspace_id, conversation_id, upto_turn, run_id, content, tokens)
				values ($1, $2, 1, $3, $4, 1)`, p.ws.ID, conversation, run, r.text)
		}
	}
	p.Exec(`insert into attachments (workspace_id, conversation_id, turn, seq, position, sha256, kind, type, bytes,
			content)
		select workspace_id, conversation_id, 1, seq, 0, sha256('x'), 'image', $2, 1, 'x' from messages
		where workspace_id = $1 and content ~ $2`, p.ws.ID, bens)
	p.Exec(`insert into offload_blobs (workspace_id, sha256, kind, content, bytes, expires_at)
		values ($1, sha256('b'), 'text', $2, 3, 'infinity')`, p.ws.ID, "a long "+bens)
	p.Exec(`insert into offload_uses (workspace_id, session, sha256, conversation_id, label)
		values ($1, 'c/1', sha256('b'), $2, $3)`, p.ws.ID, p.conversation(p.ws, "table"), "the "+bens)
	p.Exec(`insert into frozen_sessions (workspace_id, channel, lang, rendered, tools, sha256, expires_at)
		values ($1, 'chat', 'en', $2, '[]', 'x', now() + interval '1 hour')`, p.ws.ID, "You know a "+bens)
	p.Exec(`insert into memory_leases (workspace_id, type, target_key, holder, fence, lease_until)
		values ($1, 'personal', 'Ben Ito', 'x', 7, now() + interval '1 hour')`, p.ws.ID)
}

// secondSpace gives every document a vector of a second model, as a change of the model does.
func (p *people) secondSpace() {
	p.t.Helper()
	space, err := p.Space(p.t.Context(), "second", 2)
	testkit.Must(p.t, err)
	p.Exec("insert into embeddings (workspace_id, doc, space, v) select workspace_id, doc, $2, '[1,0]' from "+
		"search_docs where workspace_id = $1", p.ws.ID, space)
}

// places returns the tables whose rows contain a text, with the number of the rows.
func (p *people) places(ws access.Workspace, text string) []string {
	p.t.Helper()
	var out []string
	tables, err := p.Erasures().ErasedTables(p.t.Context())
	testkit.Must(p.t, err)
	for _, table := range append(tables, "erasures", "erase_items") {
		where := "workspace_id = $2"
		switch table {
		case "erasures":
			where = "workspace = $2"
		case "erase_items":
			where = "$2 > 0"
		}
		if n := p.Number(fmt.Sprintf("select count(*) from %s t where t::text ~* $1 and %s", table, where), text,
			ws.ID); n > 0 {
			out = append(out, fmt.Sprintf("%s %d", table, n))
		}
	}
	slices.Sort(out)
	return out
}

// rowsOf returns all rows of a workspace as text.
func (p *people) rowsOf(ws access.Workspace) (out string) {
	p.t.Helper()
	tables, err := p.Erasures().ErasedTables(p.t.Context())
	testkit.Must(p.t, err)
	for _, table := range tables {
		var rows string
		testkit.Must(p.t, p.Admin.QueryRow(p.t.Context(), fmt.Sprintf("select coalesce(string_agg(t::text, E'\\n' "+
			"order by t::text), '') from %s t where workspace_id = $1", table), ws.ID).Scan(&rows))
		out += "\n" + table + "\n" + rows
	}
	return out
}

// found returns what the forms of search return for a query: all kinds, each kind, a filter by
// target, a session's chunks.
func (p *people) found(ws access.Workspace, query, target string) (out []string) {
	p.t.Helper()
	requests := []search.Request{{Query: query}, {Query: query, Targets: []string{target}},
		{Query: query, Types: []memory.Type{memory.Summary, memory.Note, memory.Core}}}
	for _, kind := range search.Kinds {
		requests = append(requests, search.Request{Query: query, Kinds: []string{kind}})
	}
	for _, r := range requests {
		got, err := p.long.Finder.Find(p.t.Context(), ws.ID, r)
		testkit.Must(p.t, err)
		for _, f := range got {
			if strings.Contains(strings.ToLower(f.Text), query) {
				out = append(out, f.Kind+" "+f.ID)
			}
		}
	}
	return out
}

// ben is the subject that the tests erase, in another spelling than his memories have.
func (p *people) ben() erasure.Target { return erasure.Target{Workspace: p.ws.ID, Subject: "Ben Ito"} }

func twoTowns(t *testing.T) (a, b *people) {
	t.Helper()
	e := setup(t)
	return settle(e, e.A), settle(e, e.B)
}
