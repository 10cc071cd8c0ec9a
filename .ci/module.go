// Command module renames the Go module of the tree in the current folder: the module
// line of go.mod, imports and other strings of Go files, and the paths in the
// Makefile, configuration and documentation.
//
//	go run .ci/module.go git.example.org/team/cairn
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 || os.Args[1] == "" {
		return errors.New("no module path given\n  hint: make module NAME=git.example.org/team/cairn")
	}
	name := os.Args[1]
	if host, _, _ := strings.Cut(name, "/"); !strings.Contains(host, ".") {
		return fmt.Errorf("module path %q has no dot in its first element\n  hint: use a path that go get can "+
			"resolve, for example git.example.org/team/cairn", name)
	}
	if out, err := exec.Command("git", "status", "--porcelain").Output(); err == nil && len(out) > 0 &&
		os.Getenv("FORCE") == "" {
		return errors.New("the work tree has uncommitted changes\n  hint: commit them, or set FORCE=1")
	}
	old, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("read the module path: %w", err)
	}
	was := strings.TrimSpace(string(old))
	if was == name {
		fmt.Println("the module is already", name)
		return nil
	}
	// go mod edit refuses a path that is not valid.
	if out, err := exec.Command("go", "mod", "edit", "-module", name).CombinedOutput(); err != nil {
		return fmt.Errorf("module path %q: %s\n  hint: use a path such as git.example.org/team/cairn", name,
			strings.TrimSpace(string(out)))
	}
	changed, err := rename(was, name)
	if err != nil {
		return err
	}
	fmt.Printf("renamed module %s to %s in %d files\n", was, name, changed)
	return nil
}

// rename rewrites every path of the module that begins with one of its folders.
func rename(was, name string) (changed int, err error) {
	folders := "internal|workflows|activities|worker|starter|schemas|deploy|docs"
	path := regexp.MustCompile(`(^|[\s"'(=` + "`" + `])` + regexp.QuoteMeta(was) + `/(` + folders + `)\b`)
	replace := func(text []byte) []byte {
		return path.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(name, "$", "$$")+"/${2}"))
	}
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file == ".git" || file == ".cairn" || file == "bin" || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		rewrite := replace
		switch filepath.Ext(file) {
		case ".go":
			rewrite = func(text []byte) []byte { return renameInGo(text, replace) }
		case ".md", ".yml", ".yaml", ".json", ".txt", "":
		default:
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(raw, []byte(was+"/")) {
			return err
		}
		text := rewrite(raw)
		if bytes.Equal(text, raw) {
			return nil
		}
		changed++
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(file, text, info.Mode())
	})
	return changed, err
}

// renameInGo rewrites strings and comments, and nothing else.
func renameInGo(raw []byte, replace func([]byte) []byte) []byte {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(raw))
	var s scanner.Scanner
	s.Init(file, raw, nil, scanner.ScanComments)
	var out bytes.Buffer
	from := 0
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind != token.STRING && kind != token.COMMENT {
			continue
		}
		at := file.Offset(pos)
		out.Write(raw[from:at])
		out.Write(replace(raw[at : at+len(text)]))
		from = at + len(text)
	}
	out.Write(raw[from:])
	if formatted, err := format.Source(out.Bytes()); err == nil {
		return formatted
	}
	return out.Bytes()
}
