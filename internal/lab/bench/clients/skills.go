package clients

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cairn/internal/app/samples"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/bench/ground"
)

// runSkills distills a conversation, exports the skill in both name styles and validates the
// packages.
func runSkills(ctx context.Context, n npm, s *ground.Gateway) (out []Row, err error) {
	file := filepath.Join(s.Home, "conversation.json")
	if err := os.WriteFile(file, samples.Airline, 0o644); err != nil {
		return nil, err
	}
	if err := s.Run(ctx, nil, "distill", file); err != nil {
		return nil, err
	}
	var list struct{ Skills []struct{ Name string } }
	if err := s.Run(ctx, &list, "skills", "list"); err != nil {
		return nil, err
	}
	if len(list.Skills) == 0 {
		return nil, errors.New("the conversation produced no skill")
	}
	for _, one := range list.Skills {
		for _, style := range []string{skill.Hyphen, skill.Underscore} {
			row := timed(skillsRef, "validate "+one.Name+", style "+style, func() (string, error) {
				return "", validated(ctx, s, n, one.Name, style)
			})
			if row.State == Failed && style == skill.Underscore && onlyTheName(row.Detail) {
				row.State, row.Detail = NotApplicable, "has underscores in its name by design: it is the form of "+
					"MemOS, not of the specification; everything else is valid"
			}
			out = append(out, row)
		}
	}
	return out, nil
}

// validated exports a skill and validates its folder.
func validated(ctx context.Context, s *ground.Gateway, n npm, name, style string) error {
	folder := filepath.Join(n.folder, "skills-"+style)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var made struct{ File string }
	if err := s.Run(ctx, &made, "skills", "export", name, "--style", style, "--to", folder); err != nil {
		return err
	}
	if err := unzip(made.File, folder); err != nil {
		return err
	}
	out, err := n.command(ctx, nil, n.module("skills-ref/dist/cli.js"), "validate",
		strings.TrimSuffix(made.File, ".zip")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// onlyTheName reports whether the validator complains only about underscores in the name.
func onlyTheName(detail string) bool {
	return strings.Contains(detail, "contains invalid characters") && strings.Count(detail, " - ") <= 1
}

// unzip extracts an archive from Cairn.
func unzip(file, folder string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, f := range archive.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) {
			return fmt.Errorf("%s is outside of the folder", f.Name)
		}
		to := filepath.Join(folder, filepath.FromSlash(f.Name))
		if f.FileInfo().IsDir() {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := copyOut(f, to); err != nil {
			return err
		}
	}
	return nil
}

func copyOut(f *zip.File, to string) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	return errors.Join(err, w.Close())
}
