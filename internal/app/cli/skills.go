package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
	"cairn/internal/store"
)

func (c *cli) skills() *cobra.Command {
	cmd := &cobra.Command{Use: "skills", Short: "List, write, approve, export and import " +
		"skills", Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	var all bool
	list := &cobra.Command{Use: "list", Short: "List skills by category and name",
		Example: "  cairn skills list", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listSkills(cmd.Context(), all) }}
	list.Flags().BoolVar(&all, "all", false, "include archived, stale and quarantined skills")
	var version int
	var private bool
	view := &cobra.Command{Use: "view SKILL", Short: "Print the SKILL.md of a skill and its sources",
		Example: "  cairn skills view update-reservation-flights --version 1\n" +
			"  cairn skills view update-reservation-flights --privacy",
		Args: exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if private {
				return c.viewPrivacy(cmd.Context(), args[0], version)
			}
			return c.viewSkill(cmd.Context(), args[0], version)
		}}
	view.Flags().BoolVar(&private, "privacy", false, "print how many private values were masked or removed, by kind")
	view.Flags().IntVar(&version, "version", 0, "version of the skill (default the active version)")
	var to, style string
	export := &cobra.Command{Use: "export SKILL", Short: "Write the package of a skill to a zip file",
		Example: "  cairn skills export update-reservation-flights --to .",
		Args:    exactly(1, "the skill's name or number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.exportSkill(cmd.Context(), args[0], version, to, style)
		}}
	export.Flags().IntVar(&version, "version", 0, "version of the skill (default the active version)")
	export.Flags().StringVar(&style, "style", "", "style of folder and name: hyphen or underscore (default as "+
		"packed)")
	export.Flags().StringVar(&to, "to", ".", "folder or file to write")
	cmd.AddCommand(list, view, export)
	cmd.AddCommand(c.writes()...)
	cmd.AddCommand(c.changes()...)
	return cmd
}

func (c *cli) listSkills(ctx context.Context, all bool) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	filter := library.Filter{Limit: library.MaxListed}
	if all {
		filter.Statuses = skill.Statuses()
	}
	heads := []skill.Head{}
	for more := true; more; more = filter.Cursor != "" {
		page, err := s.Library.List(ctx, s.workspace.ID, filter)
		if err != nil {
			return err
		}
		heads, filter.Cursor = append(heads, page.Skills...), page.Next
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"skills": heads})
	}
	if len(heads) == 0 {
		fmt.Fprintf(c.out, "no skills in workspace %q; create some with `cairn distill FILE`\n", s.workspace.Name)
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tVERSION\tSTATUS\tCHANGED\tDESCRIPTION")
	for _, h := range heads {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\n", h.Name, h.Version, h.Status, h.UpdatedAt.Local().Format(time.DateTime),
			short(h.Description))
	}
	return tw.Flush()
}

// short shortens the text of a table cell.
func short(s string) string {
	const width = 80
	return shorten(s, width)
}

// version finds a skill by name or number and reads a version, 0 for the head's.
func (s *session) version(ctx context.Context, name string, number int) (head skill.Head, v skill.Version, err error) {
	err = s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) error {
		id, notNumber := strconv.ParseInt(name, 10, 64)
		if notNumber == nil {
			head, err = q.Skills().SkillHead(ctx, id)
		} else {
			head, err = q.Skills().SkillNamed(ctx, skill.Canonical(strings.TrimSpace(name)))
		}
		if err != nil {
			return err
		}
		if number == 0 {
			number = head.Version
		}
		v, err = q.Skills().Version(ctx, head.ID, number)
		return err
	})
	return head, v, err
}

func (c *cli) viewSkill(ctx context.Context, name string, number int) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	head, v, err := s.version(ctx, name, number)
	if err != nil {
		return err
	}
	markdown := skill.Compose(v.Name, v.Description, []byte(v.Body), skill.RenderOptions{NameStyle: s.Config.NameStyle})
	if c.output == "json" {
		return c.printJSON(map[string]any{"name": v.Name, "version": v.Number, "head_version": head.Version,
			"status": head.Status, "description": v.Description, "lang": v.Lang,
			"skill_md": string(markdown), "files": v.Files, "extra": v.Extra, "quality": v.Quality, "risk": v.Risk,
			"package": s.Blobs.Locate(v.PackageKey), "package_sha256": fmt.Sprintf("%x", v.PackageSHA),
			"origin": v.Origin,
			"run":    v.Run, "sources": v.Sources, "change_summary": v.ChangeSummary, "model": v.Model,
			"degraded": v.Degraded, "violations": v.Violations, "created_at": v.CreatedAt})
	}
	fmt.Fprintf(c.out, "%s\n", markdown)
	if c.output == "text" {
		return nil
	}
	fmt.Fprintf(c.out, "— version %d of %d, %s, %s; model %s\n", v.Number, head.Version, head.Status,
		fmt.Sprintf("created by run %s", v.Run), v.Model)
	if v.Quality != nil {
		fmt.Fprintf(c.out, "— %s\n", v.Quality)
		c.printCriteria(*v.Quality)
	}
	for _, e := range v.Extra {
		fmt.Fprintf(c.out, "— package file %s, %d bytes\n", e.Path, e.Bytes)
	}
	for _, src := range v.Sources {
		fmt.Fprintf(c.out, "— evidence: messages %d to %d of conversation %d\n", src.From, src.To, src.Conversation)
	}
	for _, f := range v.Files {
		fmt.Fprintf(c.out, "— %s, %d bytes\n", f.Path, len(f.Content))
	}
	fmt.Fprintf(c.out, "— package %s\n", s.Blobs.Locate(v.PackageKey))
	return nil
}

func (c *cli) exportSkill(ctx context.Context, name string, number int, to, style string) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	_, v, err := s.version(ctx, name, number)
	if err != nil {
		return err
	}
	file, archive, _, err := s.Library.Package(ctx, s.workspace.ID, v.SkillID, v.Number, style)
	if err != nil {
		return err
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, file)
	}
	if err := os.WriteFile(to, archive, 0o644); err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "write the package to "+to,
			"pass an existing folder, or the path of a file in one")
	}
	wrong, advice := skill.CheckPortable(archive)
	if c.output == "json" {
		return c.printJSON(map[string]any{"name": v.Name, "version": v.Number, "file": to, "bytes": len(archive),
			"sha256":   fmt.Sprintf("%x", sha256.Sum256(archive)),
			"warnings": append(append([]string{}, wrong...), advice...)})
	}
	for _, w := range wrong {
		fmt.Fprintln(c.errs, "does not follow agentskills.io:", w)
	}
	for _, w := range advice {
		fmt.Fprintln(c.errs, "agentskills.io recommends:", w)
	}
	fmt.Fprintf(c.out, "%s, version %d: %s (%d bytes)\n", v.Name, v.Number, to, len(archive))
	return nil
}
