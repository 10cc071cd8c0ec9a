package tools

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
)

// mostPairs is how many targets one call names at most.
const mostPairs = 20

type metaItem struct {
	Type        string `json:"memory_type" jsonschema:"personal for a person or group, procedural for a domain of work"`
	Target      string `json:"memory_target" jsonschema:"name of the person, group or domain"`
	Description string `json:"description,omitempty" jsonschema:"what is remembered there, in one sentence; usually left out"`
}

// metaResult tells which targets there are now.
type metaResult struct {
	Text    string                      `json:"text"`
	Targets []longterm.RegisteredTarget `json:"targets"`
}

func addMetaMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_meta_memory", Class: agent.Fast, Idempotent: true,
		Description: "Register one target that memories are kept about. One that is listed already need not be " +
			"registered."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target")(p)
			p["memory_type"].Enum = enum(o.among(memory.Registered))
		}}
	if o.Multiple {
		d.list, d.most = "meta_memories", mostPairs
		d.spec.Description = "Register targets that memories are kept about. Those that are listed already need not " +
			"be registered."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[metaItem],
		bad []longterm.ItemResult) (metaResult, error) {
		var in []longterm.NewTarget
		for _, one := range items {
			in = append(in, longterm.NewTarget{Index: one.Index, Type: memory.Type(one.Value.Type),
				Target: one.Value.Target, Description: one.Value.Description})
		}
		done, err := l.AddTargets(ctx, a, in)
		if err != nil {
			return metaResult{}, err
		}
		added, text := 0, ""
		for _, t := range done {
			if t.Status == longterm.Failed {
				bad = append(bad, t.ItemResult)
				continue
			}
			if t.Status == memorywrite.Added {
				added++
			}
			text += fmt.Sprintf("\n%s: %s(%s)", t.Status, t.Target.Type, t.Target.Target)
		}
		out := metaResult{Text: fmt.Sprintf("%d added%s", added, text), Targets: done}
		if added == 0 {
			out.Text = "nothing new" + text
		}
		for _, b := range bad {
			out.Text += "\n" + line(b, true)
		}
		return out, nil
	})
}

// nothing is the arguments of a tool that takes none.
type nothing struct{}

func readMetaMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "read_meta_memory", Class: agent.Fast, ReadOnly: true, Idempotent: true,
		Description: "List the targets that there are memories about, one a line: - type(target): what is remembered."}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, _ []given[nothing],
		_ []longterm.ItemResult) (longterm.Meta, error) {
		return l.ReadMeta(ctx, a, longterm.MetaArgs{Tools: o.ToolMemory, Identity: o.IdentityMemory, Only: o.Only})
	})
}

// identityResult is the identity as it stands.
type identityResult struct {
	Text    string `json:"text"`
	Version int    `json:"version"`
}

func readIdentityMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "read_identity_memory", Class: agent.Fast, ReadOnly: true,
		Idempotent:  true,
		Description: "Read who you are: the document about your role, personality and present state."}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, _ []given[nothing],
		_ []longterm.ItemResult) (identityResult, error) {
		v, err := l.ReadIdentity(ctx, a)
		return identityResult{Text: longterm.IdentityText(v), Version: v.Version}, err
	})
}

type identityItem struct {
	Content  string `json:"identity_memory" jsonschema:"the whole document from now on: what is left out is gone"`
	Expected *int   `json:"expected_version,omitempty" jsonschema:"version that you have read; left out, whichever is in force"`
}

func updateIdentityMemory(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "update_identity_memory", Class: agent.Fast, Destructive: true,
		Description: "Replace the document about who you are, as a whole. Read it first, and change it only when " +
			"something about you has changed."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("identity_memory")(p)
			p["expected_version"].Types, p["expected_version"].Type = nil, "integer"
			p["expected_version"].Minimum = jsonschema.Ptr(0.0)
		}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[identityItem],
		_ []longterm.ItemResult) (identityResult, error) {
		w, err := l.UpdateIdentity(ctx, a, longterm.IdentityArgs{Content: items[0].Value.Content,
			Expected: items[0].Value.Expected})
		return identityResult{Text: fmt.Sprintf("%s, version %d", w.Status, w.Version), Version: w.Version}, err
	})
}

type thought struct {
	Reflection string `json:"reflection" jsonschema:"what is known, what is missing, and what to do next"`
}

// Think is the tool with which an agent reflects.
const Think = "think_tool"

func thinkTool(o Options, _ *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: Think, Class: agent.Control, ReadOnly: true, Idempotent: true,
		Description: "Think before you go on: write down what you know, what is missing and what follows. Nothing " +
			"else happens."},
		bound: nonEmpty("reflection")}
	return progressive(o, d, func(_ context.Context, _ agent.Actor, items []given[thought],
		_ []longterm.ItemResult) (textResult, error) {
		if o.OutputReflection {
			return textResult{Text: items[0].Value.Reflection}, nil
		}
		return textResult{Text: "The reflection is noted. Go on."}, nil
	})
}

type taskItem struct {
	Type   string `json:"memory_type" jsonschema:"type of the target, as the list of targets has it"`
	Target string `json:"memory_target" jsonschema:"the target, as the list of targets has it"`
}

// handsOff reads its call and has no effect: Tasks of its result are for the
// workflow to run.
func handsOff(o Options, l *longterm.Service) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "hands_off", Class: agent.Control,
		Description: "Hand this session to the specialist of one target of the list, who updates its memories."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target")(p)
			p["memory_type"].Enum = enum(o.among(memory.HandOffTypes))
		}}
	if o.Multiple {
		d.list, d.most = "memory_tasks", mostPairs
		d.spec.Description = "Hand this session to the specialists of targets of the list, who update their " +
			"memories side by side. Name all that the session says something about in one call."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[taskItem],
		bad []longterm.ItemResult) (longterm.HandedOff, error) {
		in := longterm.HandOffArgs{Tools: o.ToolMemory, Identity: o.IdentityMemory, Only: o.Only}
		for _, one := range items {
			in.Tasks = append(in.Tasks, longterm.NewTask{Index: one.Index, Type: memory.Type(one.Value.Type),
				Target: one.Value.Target})
		}
		out, err := l.HandOff(ctx, a, in)
		out.Rejected = append(out.Rejected, bad...)
		return out, err
	})
}
