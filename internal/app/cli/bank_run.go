package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/service/learning/bank"
)

// withBanks opens a session that needs no Temporal.
func (c *cli) withBanks(ctx context.Context, fn func(*session) error) error {
	s, err := c.open(ctx, needs{make: true})
	if err != nil {
		return err
	}
	defer s.close()
	return fn(s)
}

func (c *cli) listBanks(ctx context.Context) error {
	return c.withBanks(ctx, func(s *session) error {
		banks, err := s.Learning.Banks.List(ctx, s.workspace.ID)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"banks": banks})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "BANK\tVERSION\tSKILLS\tBY\tOPEN CASES\tSNAPSHOT\tFROZEN")
		for _, b := range banks {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%d\t%.12s\t%s\n", b.Name, b.Version, b.Skills, b.Action, b.OpenCases,
				b.Snapshot, frozenSince(b.FrozenAt))
		}
		return tw.Flush()
	})
}

// shownBank is a version in JSON output.
type shownBank struct {
	Bank    string                       `json:"bank"`
	Version learning.BankVersion         `json:"version"`
	Skills  []memoryskill.Version        `json:"skills"`
	Stats   map[string]memoryskill.Stats `json:"stats,omitempty"` // by id of the skill's version
	// FrozenAt is the time since when the bank does not change.
	FrozenAt *time.Time `json:"frozen_at,omitempty"`
}

// frozenSince is the time since when a bank is frozen, empty if it is not.
func frozenSince(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (c *cli) showBank(ctx context.Context, name string, number int, history bool) error {
	return c.withBanks(ctx, func(s *session) error {
		if history {
			return c.bankHistory(ctx, s, name)
		}
		h, err := s.Learning.Banks.At(ctx, s.workspace.ID, name, number)
		if err != nil {
			return err
		}
		return c.printBank(h)
	})
}

func (c *cli) printBank(h bank.Head) error {
	if c.output == "json" {
		return c.printJSON(shownBank{h.Name, h.Version, h.Bank.Versions(), inBank(h), h.FrozenAt})
	}
	fmt.Fprintf(c.out, "bank %s, version %d (%s), policy %.12s, %d weights\n", h.Name, h.Version.Number,
		h.Version.Action, h.Version.Policy, h.Policy.Weights())
	if h.Version.Reason != "" {
		fmt.Fprintln(c.out, h.Version.Reason)
	}
	if h.Frozen() {
		fmt.Fprintf(c.out, "frozen since %s: it does not change until `cairn bank unfreeze --bank %s`\n",
			frozenSince(h.FrozenAt), h.Name)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tACTION\tBY\tSCORED\tMEAN\tDESCRIPTION")
	for _, v := range h.Bank.Versions() {
		mean := ""
		if s := h.Stats[v.ID]; s.Count > 0 {
			mean = fmt.Sprintf("%.3f", s.Mean)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", v.Skill.Name, v.Skill.Action, v.Author, h.Stats[v.ID].Count, mean,
			short(v.Skill.Description))
	}
	return tw.Flush()
}

// inBank returns the statistics of the skill versions in the bank.
func inBank(h bank.Head) map[string]memoryskill.Stats {
	out := map[string]memoryskill.Stats{}
	for _, v := range h.Bank.Versions() {
		if s, there := h.Stats[v.ID]; there {
			out[v.ID] = s
		}
	}
	return out
}

func (c *cli) bankHistory(ctx context.Context, s *session, name string) error {
	versions, _, err := s.Learning.Banks.History(ctx, s.workspace.ID, name, "", 100)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"versions": versions})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "VERSION\tON\tBY\tSKILLS\tPOLICY\tREASON")
	for _, v := range versions {
		fmt.Fprintf(tw, "%d\t%d\t%s\t%d\t%.12s\t%s\n", v.Number, v.Parent, v.Action, len(v.Members), v.Policy,
			short(v.Reason))
	}
	return tw.Flush()
}

func (c *cli) bankUpdates(ctx context.Context, name string) error {
	return c.withBanks(ctx, func(s *session) error {
		updates, _, err := s.Learning.Updates.List(ctx, s.workspace.ID, name, "", 100)
		if err != nil {
			return err
		}
		bursts, err := s.Learning.Cases.Bursts(ctx, s.workspace.ID, 100)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"updates": updates, "bursts": bursts})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(
			tw,
			"UPDATE\tON\tSTATE\tDECISIONS\tEFFECTIVE\tAGREEMENT\tSHADOW\tOUTCOMES\tBASELINE\tVOTERS\tCANARY\t"+
				"POLICY\tREASON",
		)
		for _, u := range updates {
			live := u.Canary
			if live == nil {
				live = &learning.Canary{}
			}
			fmt.Fprintf(tw, "%d\t%d\t%s\t%d\t%s\t%.0f %%\t%s\t%d\t%d\t%d\t%s\t%.12s\t%s\n", u.Number, u.Base, u.State,
				u.Decisions, effective(u.Shadow.OffPolicy), 100*u.Shadow.Alike, difference(u.Shadow.Comparison),
				live.Candidate, live.Incumbent, live.Voters, difference(live.Comparison), u.Policy, short(u.Note))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		for _, b := range bursts {
			fmt.Fprintf(c.out, "%d votes of %s do not count: more than 20 sent within a minute, last on %s\n", b.Votes,
				b.Voter, b.LastAt.Format(time.RFC3339))
		}
		return nil
	})
}

func (c *cli) bankProbes(ctx context.Context, name string) error {
	return c.withBanks(ctx, func(s *session) error {
		probes, err := s.Learning.Probes.List(ctx, s.workspace.ID, name, 100)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"probes": probes})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "RUN\tSTATE\tSCORE\tQUESTION\tANSWER\tNOTE")
		for _, p := range probes {
			score := ""
			if p.Score != nil {
				score = fmt.Sprintf("%.2f", *p.Score)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Run, p.State, score, short(p.Question), short(p.Answer),
				short(p.Note))
		}
		return tw.Flush()
	})
}

// effective formats the effective sample size of an estimate, "" if there is none.
func effective(o *learning.OffPolicy) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", o.Effective)
}

// difference formats the mean difference of a comparison, "" if there is none.
func difference(c *designer.Comparison) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%+.3f", c.Mean)
}

func (c *cli) diffBank(ctx context.Context, name string, from, to int) error {
	return c.withBanks(ctx, func(s *session) error {
		older, err := s.Learning.Banks.At(ctx, s.workspace.ID, name, from)
		if err != nil {
			return err
		}
		newer, err := s.Learning.Banks.At(ctx, s.workspace.ID, name, to)
		if err != nil {
			return err
		}
		differences := memoryskill.Differences(older.Bank, newer.Bank)
		prompts := memoryskill.PromptDifferences(older.Version.Prompts, newer.Version.Prompts)
		if c.output == "json" {
			return c.printJSON(map[string]any{"from": older.Version.Number, "to": newer.Version.Number,
				"policy_changed": older.Version.Policy != newer.Version.Policy, "changes": differences,
				"prompts": prompts})
		}
		for _, d := range differences {
			fmt.Fprintf(c.out, "%s %s\n", d.Kind, d.Name)
			for _, line := range d.Lines() {
				fmt.Fprintln(c.out, "  "+line)
			}
		}
		for _, d := range prompts {
			fmt.Fprintf(c.out, "prompt %s\n", d.Name)
			for _, line := range memoryskill.ChangedLines(builtIn(d.Name, d.Before), builtIn(d.Name, d.After)) {
				fmt.Fprintln(c.out, "  "+line)
			}
		}
		if older.Version.Policy != newer.Version.Policy {
			fmt.Fprintf(c.out, "policy %.12s → %.12s\n", older.Version.Policy, newer.Version.Policy)
		}
		return nil
	})
}

func (c *cli) changeBank(ctx context.Context, change func(context.Context, *session) (bank.Head, error)) error {
	return c.withBanks(ctx, func(s *session) error {
		h, err := change(ctx, s)
		if err != nil {
			return err
		}
		return c.printBank(h)
	})
}

func (c *cli) exportBank(ctx context.Context, name string, number int, folder string) error {
	return c.withBanks(ctx, func(s *session) error {
		h, files, err := s.Learning.Banks.Export(ctx, s.workspace.ID, name, number)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("create the folder: %w", err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
				return fmt.Errorf("write a file of the bank: %w", err)
			}
		}
		fmt.Fprintf(
			c.out,
			"exported %d skills of bank %s, version %d, with policy %.12s, to %s\n",
			h.Bank.Len(),
			h.Name,
			h.Version.Number,
			h.Version.Policy,
			folder,
		)
		return nil
	})
}

// bankFiles returns the Markdown files of a folder, by file name, and the package unless it is left
// out.
func bankFiles(folder string, whole bool) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil || len(paths) == 0 {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("no Markdown files in %q", folder),
			"pass a folder that `cairn bank export FOLDER` has written")
	}
	if packed := filepath.Join(folder, bank.PackageFile); whole {
		if _, err := os.Stat(packed); err == nil {
			paths = append(paths, packed)
		}
	}
	files := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a file of the bank: %w", err)
		}
		files[filepath.Base(path)] = text
	}
	return files, nil
}
