package tools

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// maxPairs is the maximum number of targets in a call.
const maxPairs = 20

type metaItem struct {
	Type        string `json:"memory_type" jsonschema:"personal for a person or group, procedural for a domain of work"`
	Target      string `json:"memory_target" jsonschema:"name of the person, group or domain"`
	Description string `json:"description,omitempty" jsonschema:"content of its memories, in one sentence; usually omitted"`
}

// metaResult lists the registered targets.
type metaResult struct {
	Text    string                      `json:"text"`
	Targets []memories.RegisteredTarget `json:"targets"`
}

func addMetaMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_meta_memory", Class: agent.Fast, Idempotent: true,
		Description: "Register one target of memories. Targets that are already listed need not be " +
			"registered."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target")(p)
			p["memory_type"].Enum = enum(o.among(memory.Registered))
		}}
	if o.Multiple {
		d.list, d.most = "meta_memories", maxPairs
		d.spec.Description = "Register targets of memories. Targets that are already listed need not " +
			"be registered."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[metaItem],
		bad []memories.ItemResult) (metaResult, error) {
		var in []memories.NewTarget
		for _, one := range items {
			in = append(in, memories.NewTarget{Index: one.Index, Type: memory.Type(one.Value.Type),
				Target: one.Value.Target, Description: one.Value.Description})
		}
		done, err := l.AddNamedTargets(ctx, a, in)
		if err != nil {
			return metaResult{}, err
		}
		added, text := 0, ""
		for _, t := range done {
			if t.Status == memories.Failed {
				bad = append(bad, t.ItemResult)
				continue
			}
			if t.Status == memories.Added {
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

// nothing is the argument type of tools without arguments.
type nothing struct{}

func readMetaMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "read_meta_memory", Class: agent.Fast, ReadOnly: true, Idempotent: true,
		Description: "List the targets of memories, one per line: - type(target): content."}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, _ []given[nothing],
		_ []memories.ItemResult) (memories.Meta, error) {
		return l.ReadMeta(ctx, a, memories.MetaArgs{Tools: o.ToolMemory, Identity: o.IdentityMemory, Only: o.Only})
	})
}

// identityResult is the current identity.
type identityResult struct {
	Text    string `json:"text"`
	Version int    `json:"version"`
}

func readIdentityMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "read_identity_memory", Class: agent.Fast, ReadOnly: true,
		Idempotent:  true,
		Description: "Read your identity: the document about your role, personality and current state."}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, _ []given[nothing],
		_ []memories.ItemResult) (identityResult, error) {
		v, err := l.ReadIdentity(ctx, a)
		return identityResult{Text: memories.IdentityText(v), Version: v.Version}, err
	})
}

type identityItem struct {
	Content  string `json:"identity_memory" jsonschema:"complete new document; omitted text is deleted"`
	Expected *int   `json:"expected_version,omitempty" jsonschema:"version that you have read; omit to replace any version"`
}

func updateIdentityMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "update_identity_memory", Class: agent.Fast, Destructive: true,
		Description: "Replace your identity document as a whole. Read it first, and change it only if " +
			"something about you has changed."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("identity_memory")(p)
			p["expected_version"].Types, p["expected_version"].Type = nil, "integer"
			p["expected_version"].Minimum = jsonschema.Ptr(0.0)
		}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[identityItem],
		_ []memories.ItemResult) (identityResult, error) {
		w, err := l.UpdateIdentity(ctx, a, memories.IdentityArgs{Content: items[0].Value.Content,
			Expected: items[0].Value.Expected})
		return identityResult{Text: fmt.Sprintf("%s, version %d", w.Status, w.Version), Version: w.Version}, err
	})
}

type thought struct {
	Reflection string `json:"reflection" jsonschema:"what you know, what is missing, and what to do next"`
}

// Think is the tool for reflection between steps.
const Think = "think_tool"

func thinkTool(o Options, _ *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: Think, Class: agent.Control, ReadOnly: true, Idempotent: true,
		Description: "Think before you continue: write down what you know, what is missing and what follows. " +
			"The call has no other effect."},
		bound: nonEmpty("reflection")}
	return progressive(o, d, func(_ context.Context, _ agent.Actor, items []given[thought],
		_ []memories.ItemResult) (textResult, error) {
		if o.OutputReflection {
			return textResult{Text: items[0].Value.Reflection}, nil
		}
		return textResult{Text: "Reflection noted. Continue."}, nil
	})
}

type taskItem struct {
	Type   string `json:"memory_type" jsonschema:"type of the target, as in the list of targets"`
	Target string `json:"memory_target" jsonschema:"name of the target, as in the list of targets"`
}

// handsOff checks its call and has no effect. The workflow runs the tasks in its result.
func handsOff(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "hands_off", Class: agent.Control,
		Description: "Hand this session off to the specialist of a listed target, which updates its memories."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_target")(p)
			p["memory_type"].Enum = enum(o.among(memory.HandOffTypes))
		}}
	if o.Multiple {
		d.list, d.most = "memory_tasks", maxPairs
		d.spec.Description = "Hand this session off to the specialists of listed targets, which update their " +
			"memories in parallel. Name all targets that the session has facts about in one call."
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[taskItem],
		bad []memories.ItemResult) (memories.HandedOff, error) {
		in := memories.HandOffArgs{Tools: o.ToolMemory, Identity: o.IdentityMemory, Only: o.Only}
		for _, one := range items {
			in.Tasks = append(in.Tasks, memories.NewTask{Index: one.Index, Type: memory.Type(one.Value.Type),
				Target: one.Value.Target})
		}
		out, err := l.HandOff(ctx, a, in)
		out.Rejected = append(out.Rejected, bad...)
		return out, err
	})
}
