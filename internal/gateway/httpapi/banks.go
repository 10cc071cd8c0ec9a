package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/service/learning/bank"
)

const tagBanks = "banks"

type (
	// BankSummary is a bank of memory skills in a list.
	BankSummary learning.BankSummary
	// BankVersion is a version of a bank and its policy.
	BankVersion learning.BankVersion
	// MemorySkillText is the text of a memory skill.
	MemorySkillText memoryskill.Skill
	// PolicyUpdate is an update of a policy from live decisions.
	PolicyUpdate learning.Update
	// VoteBurst is the number of a voter's votes that do not count.
	VoteBurst learning.VoteBurst
	// Probe is a self-test question of memory.
	Probe learning.Probe
)

// ProbeList holds the probes of a workspace, those of the latest session first.
type ProbeList struct {
	Probes []Probe `json:"probes"`
}

// PolicyUpdateList is a page of the updates of a bank's policy, the latest first.
type PolicyUpdateList struct {
	Updates    []PolicyUpdate `json:"updates"`
	Bursts     []VoteBurst    `json:"bursts" doc:"Votes of the workspace that do not count, because they came too fast"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// MemorySkill is one version of an instruction for extracting memories.
type MemorySkill struct {
	ID      string          `json:"id" doc:"ID of this version; a version never changes"`
	Skill   MemorySkillText `json:"skill"`
	Content string          `json:"content" doc:"SHA-256 of the skill's Markdown"`
	Parent  string          `json:"parent,omitempty" doc:"ID of the version that this one refines"`
	Author  string          `json:"author" enum:"seed,designer,human"`
	Origin  string          `json:"origin,omitempty"`
	Scored  int             `json:"scored,omitempty" doc:"Number of scored selections. Scores come from questions with known answers or from feedback on a turn"`
	Mean    float64         `json:"mean,omitempty" doc:"Mean score of these selections, 0–1"`
}

// BankList holds all banks of the workspace.
type BankList struct {
	Banks []BankSummary `json:"banks"`
}

// BankDetail is one version of a bank with its skills.
type BankDetail struct {
	Bank    string        `json:"bank"`
	Version BankVersion   `json:"version"`
	Skills  []MemorySkill `json:"skills"`
	// FrozenAt is the time since when the bank does not change.
	FrozenAt *time.Time `json:"frozen_at,omitempty" doc:"Since when the bank does not change; absent if it may"`
}

// BankVersionList is a page of a bank's versions, the latest first.
type BankVersionList struct {
	Versions   []BankVersion `json:"versions"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BankChange describes how one skill changed between two versions of a bank.
type BankChange struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind" enum:"added,refined,removed"`
	Before *MemorySkill `json:"before,omitempty"`
	After  *MemorySkill `json:"after,omitempty"`
}

// BankDiff describes what changed between two versions of a bank.
type BankDiff struct {
	From          int          `json:"from"`
	To            int          `json:"to"`
	PolicyChanged bool         `json:"policy_changed" doc:"Whether the weights that select skills differ"`
	Changes       []BankChange `json:"changes"`
	Prompts       []PromptDiff `json:"prompts" doc:"Prompts that differ"`
}

// BankFiles holds the files of a bank, by file name.
type BankFiles struct {
	Files map[string]string `json:"files" minProperties:"1" doc:"The Markdown of each skill, and in an export bank.json: the weights of the policy, its optimizer, prompts, recipe and provenance"`
}

// packageBody is the maximum size of an imported bank with its policy, in bytes.
const packageBody = 8 << 20

// BankPath is the path parameter that names a bank.
type BankPath struct {
	Name string `path:"name" pattern:"^[a-z][a-z0-9_-]{0,63}$" doc:"The bank's name. Memories are extracted with the bank default"`
}

// BankAt is a bank at a version.
type BankAt struct {
	BankPath
	Version int `query:"version" minimum:"0" maximum:"2147483647" doc:"Version number; 0 is the active version"`
}

func (g *Gateway) bankRoutes() {
	g.bankPromptRoutes()
	g.bankFreezeRoutes()
	g.bankLearningRoutes()
	handle(g, route{method: http.MethodGet, path: "/v1/banks", id: "listBanks", tag: tagBanks, scope: access.Read,
		summary: "List the banks of memory skills"}, g.listBanks)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}", id: "showBank", tag: tagBanks, scope: access.Read,
		summary: "Show a version of a bank with its skills"}, g.showBank)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/versions", id: "listBankVersions", tag: tagBanks,
		scope: access.Read, summary: "List a bank's versions, the newest first"}, g.listBankVersions)
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/banks/{name}/updates",
		id:      "listPolicyUpdates",
		tag:     tagBanks,
		scope:   access.Read,
		summary: "List the updates of a bank's policy, the latest first",
		about: "An update learns from live decisions. It is evaluated in shadow mode, then as a canary on a share " +
			"of live builds, and is then promoted to a version or dropped. An update that passes with the votes of " +
			"fewer than five voters waits until it is promoted by hand, and is in the inbox.",
	}, g.listPolicyUpdates)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/probes", id: "listProbes", tag: tagBanks,
		scope: access.Read, summary: "List probes, those of the latest session first",
		about: "A probe is a question made from a stored session. Memory answers it, and the score is the share of " +
			"the expected answer's words in the result. The score is an outcome of the decisions that built the " +
			"memory. Probes run only if the setting memory.learning.probes_per_day is above 0."}, g.listProbes)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/diff", id: "diffBank", tag: tagBanks,
		scope: access.Read, summary: "Compare two versions of a bank"}, g.diffBank)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/export", id: "exportBank", tag: tagBanks,
		scope: access.Read, summary: "Get a bank with its policy as files"}, g.exportBank)
	handle(g, route{method: http.MethodPost, path: "/v1/banks/{name}/rollback", id: "rollbackBank", tag: tagBanks,
		scope: access.Admin, bytes: smallBody, summary: "Roll back a bank and its policy",
		about: "The rollback creates a new version. If the contents equal the active version, nothing changes."},
		g.rollbackBank)
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/banks/{name}/promote",
		id:      "promotePolicyUpdate",
		tag:     tagBanks,
		scope:   access.Admin,
		bytes:   smallBody,
		summary: "Promote an update of a bank's policy",
		about: "Accepts an update on canary that is better than the active policy, but has too few voters for an " +
			"automatic promotion. Promoting it again changes nothing.",
	}, g.promoteUpdate)
	handle(g, route{method: http.MethodPost, path: "/v1/banks/{name}/import", id: "importBank", tag: tagBanks,
		scope: access.Admin, bytes: packageBody, summary: "Import the files of a bank",
		about: "The bank is created if it does not exist. With bank.json of an export of another bank, the exported " +
			"version becomes the active one, with its policy and prompts. A new skill is added, and a skill with a " +
			"different text is refined. All files are imported or none. Equal contents change nothing."}, g.importBank)
	handle(g, route{method: http.MethodPost, path: "/v1/banks/{name}/follow", id: "followBank", tag: tagBanks,
		scope: access.Admin, bytes: smallBody,
		summary: "Base a bank on a shared bank",
		about: "The bank takes the current skills of a bank in the workspace \"" + bank.SharedWorkspace +
			"\". A skill of this workspace overrides a shared skill with the same name; other skills of this " +
			"workspace are added. The result is a new version; if nothing has changed, the bank stays as it is. " +
			"No data of this workspace is shared."}, g.followBank)
}

func (g *Gateway) listBanks(ctx context.Context, _ *struct{}) (*bodyOf[BankList], error) {
	banks, err := g.Learning.Banks.List(ctx, workspace(ctx))
	out := &bodyOf[BankList]{BankList{Banks: []BankSummary{}}}
	for _, b := range banks {
		out.Body.Banks = append(out.Body.Banks, BankSummary(b))
	}
	return out, err
}

func (g *Gateway) showBank(ctx context.Context, in *BankAt) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.At(ctx, workspace(ctx), in.Name, in.Version))
}

func shownBank(h bank.Head, err error) (*bodyOf[BankDetail], error) {
	if err != nil {
		return nil, err
	}
	out := BankDetail{Bank: h.Name, Version: BankVersion(h.Version), Skills: []MemorySkill{},
		FrozenAt: h.FrozenAt}
	for _, v := range h.Bank.Versions() {
		shown := memorySkill(v)
		shown.Scored, shown.Mean = h.Stats[v.ID].Count, h.Stats[v.ID].Mean
		out.Skills = append(out.Skills, shown)
	}
	return &bodyOf[BankDetail]{out}, nil
}

func memorySkill(v memoryskill.Version) MemorySkill {
	return MemorySkill{ID: v.ID, Skill: MemorySkillText(v.Skill), Content: v.Content, Parent: v.Parent,
		Author: string(v.Author), Origin: v.Origin}
}

func (g *Gateway) listBankVersions(ctx context.Context, in *BankPage) (*bodyOf[BankVersionList], error) {
	versions, next, err := g.Learning.Banks.History(ctx, workspace(ctx), in.Name, in.Cursor, in.Limit)
	out := &bodyOf[BankVersionList]{BankVersionList{Versions: []BankVersion{}, NextCursor: next}}
	for _, v := range versions {
		out.Body.Versions = append(out.Body.Versions, BankVersion(v))
	}
	return out, err
}

func (g *Gateway) listPolicyUpdates(ctx context.Context, in *BankPage) (*bodyOf[PolicyUpdateList], error) {
	updates, next, err := g.Learning.Updates.List(ctx, workspace(ctx), in.Name, in.Cursor, in.Limit)
	out := &bodyOf[PolicyUpdateList]{
		PolicyUpdateList{Updates: []PolicyUpdate{}, Bursts: []VoteBurst{}, NextCursor: next},
	}
	for _, u := range updates {
		out.Body.Updates = append(out.Body.Updates, PolicyUpdate(u))
	}
	if err != nil {
		return nil, err
	}
	bursts, err := g.Learning.Cases.Bursts(ctx, workspace(ctx), in.Limit)
	for _, b := range bursts {
		out.Body.Bursts = append(out.Body.Bursts, VoteBurst(b))
	}
	return out, err
}

func (g *Gateway) promoteUpdate(ctx context.Context, in *struct {
	BankPath
	Body struct {
		Update int `json:"update" minimum:"1" maximum:"2147483647" doc:"The number of the update"`
	}
}) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Updates.Promote(ctx, workspace(ctx), in.Name, in.Body.Update))
}

func (g *Gateway) listProbes(ctx context.Context, in *struct {
	BankPath
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[ProbeList], error) {
	probes, err := g.Learning.Probes.List(ctx, workspace(ctx), in.Name, in.Limit)
	out := &bodyOf[ProbeList]{ProbeList{Probes: []Probe{}}}
	for _, p := range probes {
		out.Body.Probes = append(out.Body.Probes, Probe(p))
	}
	return out, err
}

func (g *Gateway) diffBank(ctx context.Context, in *struct {
	BankPath
	From int `query:"from" default:"1" minimum:"1" maximum:"2147483647" doc:"The older version"`
	To   int `query:"to" minimum:"0" maximum:"2147483647" doc:"The newer version; 0 is the active version"`
}) (*bodyOf[BankDiff], error) {
	older, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, in.From)
	if err != nil {
		return nil, err
	}
	newer, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, in.To)
	if err != nil {
		return nil, err
	}
	out := BankDiff{From: older.Version.Number, To: newer.Version.Number,
		PolicyChanged: older.Version.Policy != newer.Version.Policy, Changes: []BankChange{}, Prompts: []PromptDiff{}}
	side := func(v memoryskill.Version) *MemorySkill {
		if v.ID == "" {
			return nil
		}
		shown := memorySkill(v)
		return &shown
	}
	for _, d := range memoryskill.Differences(older.Bank, newer.Bank) {
		out.Changes = append(out.Changes, BankChange{Name: d.Name, Kind: d.Kind, Before: side(d.Before),
			After: side(d.After)})
	}
	for _, d := range memoryskill.PromptDifferences(older.Version.Prompts, newer.Version.Prompts) {
		out.Prompts = append(out.Prompts, PromptDiff(d))
	}
	return &bodyOf[BankDiff]{out}, nil
}

func (g *Gateway) exportBank(ctx context.Context, in *BankAt) (*bodyOf[BankFiles], error) {
	_, files, err := g.Learning.Banks.Export(ctx, workspace(ctx), in.Name, in.Version)
	if err != nil {
		return nil, err
	}
	out := &bodyOf[BankFiles]{BankFiles{Files: map[string]string{}}}
	for file, text := range files {
		out.Body.Files[file] = string(text)
	}
	return out, nil
}

func (g *Gateway) rollbackBank(ctx context.Context, in *struct {
	BankPath
	Body struct {
		To int `json:"to" minimum:"1" maximum:"2147483647" doc:"The version to restore"`
	}
}) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.Rollback(ctx, workspace(ctx), in.Name, in.Body.To))
}

func (g *Gateway) importBank(ctx context.Context, in *struct {
	BankPath
	Body BankFiles
}) (*bodyOf[BankDetail], error) {
	files := map[string][]byte{}
	for file, markdown := range in.Body.Files {
		files[file] = []byte(markdown)
	}
	return shownBank(g.Learning.Banks.Import(ctx, workspace(ctx), in.Name, files))
}

func (g *Gateway) followBank(ctx context.Context, in *struct {
	BankPath
	Body struct {
		Shared string `json:"shared,omitempty" pattern:"^[a-z][a-z0-9_-]{0,63}$" default:"default" doc:"The bank of the shared workspace"`
	}
}) (*bodyOf[BankDetail], error) {
	from, err := g.Workspaces.Find(ctx, bank.SharedWorkspace)
	if err != nil {
		return nil, err
	}
	return shownBank(g.Learning.Banks.Follow(ctx,
		bank.FollowRequest{Workspace: workspace(ctx), Bank: in.Name, Shared: from.ID, From: in.Body.Shared}))
}
