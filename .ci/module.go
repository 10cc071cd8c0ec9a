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

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

func run() error {
	const hint = "\n  hint: make module NAME=git.example.org/team/cairn"
	if len(os.Args) != 2 || os.Args[1] == "" {
		return errors.New("no module path given" + hint)
	}
	name := os.Args[1]
	if err := module.CheckPath(name); err != nil {
		return fmt.Errorf("%w%s", err, hint)
	}
	raw, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	old := modfile.ModulePath(raw)
	if old == name {
		fmt.Println("the module is already", name)
		return nil
	}
	if out, err := exec.Command("git", "status", "--porcelain").Output(); err == nil && len(out) > 0 &&
		os.Getenv("FORCE") != "1" {
		return errors.New("the work tree has uncommitted changes\n  hint: commit them, or set FORCE=1")
	}
	changed, err := rename(old, name)
	if err != nil {
		return err
	}
	// go.mod comes last: if a file could not be written, the same command continues.
	if err := renameModule(raw, name); err != nil {
		return err
	}
	fmt.Printf("renamed module %s to %s in %d files\n", old, name, changed+1)
	return nil
}

func renameModule(raw []byte, name string) error {
	file, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(name); err != nil {
		return err
	}
	out, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile("go.mod", out, 0o644)
}

// rename rewrites every path of the module that begins with one of its folders.
func rename(old, name string) (changed int, err error) {
	folders := "internal|workflows|activities|worker|starter|schemas|deploy|docs"
	path := regexp.MustCompile(`(^|[\s"'(=` + "`" + `])` + regexp.QuoteMeta(old) + `/(` + folders + `)\b`)
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
		if err != nil || !bytes.Contains(raw, []byte(old+"/")) {
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
