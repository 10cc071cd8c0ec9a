// Command house counts what makes the code heavy, and compares it with .ci/house.txt. A count may fall, not rise. The
// script .ci/house runs it.
//
//	code lines        lines of Go with code; without tests, generated files and internal/lab
//	generated lines   lines of generated Go with code, without internal/lab
//	packages          folders with Go files other than tests
//	interfaces        interface types of internal/service, and fields of its structs that are functions
//	similar structs   pairs of structs in different packages that have 65 % of their fields in common, by name, and at
//	                  least 6 fields each; without internal/lab
//
// With -update it writes the counts that have fallen. With -pairs it lists the similar structs.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	limits    = ".ci/house.txt"
	minFields = 6
	minShare  = 0.65
)

// structure is a struct type with the names of its fields.
type structure struct {
	folder, name string
	fields       map[string]bool
}

// house is what was counted.
type house struct {
	counts  map[string]int
	folders map[string]bool
	structs []structure
}

var names = []string{"code lines", "generated lines", "packages", "interfaces", "similar structs"}

func main() {
	update := flag.Bool("update", false, "write the counts that have fallen")
	pairs := flag.Bool("pairs", false, "list the similar structs")
	flag.Parse()
	if err := run(*update, *pairs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(update, pairs bool) error {
	list, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	h := house{counts: map[string]int{}, folders: map[string]bool{}}
	for path := range strings.FieldsSeq(string(list)) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			continue
		}
		if err := h.read(path); err != nil {
			return err
		}
	}
	h.counts["packages"] = len(h.folders)
	h.compare(pairs)
	return h.check(update)
}

// read counts a file. A file that was deleted and is still in the index counts nothing.
func (h *house) read(path string) error {
	source, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		return err
	}
	h.folders[filepath.Dir(path)] = true
	if strings.HasPrefix(path, "internal/lab/") {
		return nil
	}
	if ast.IsGenerated(file) {
		h.counts["generated lines"] += codeLines(source)
		return nil
	}
	h.counts["code lines"] += codeLines(source)
	service := strings.HasPrefix(path, "internal/service/")
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.InterfaceType:
			if service {
				h.counts["interfaces"]++
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				h.add(filepath.Dir(path), n.Name.Name, s, service)
			}
		}
		return true
	})
	return nil
}

// add keeps the fields of a struct and counts those that are functions.
func (h *house) add(folder, name string, s *ast.StructType, service bool) {
	fields := map[string]bool{}
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			fields[strings.ToLower(n.Name)] = true
		}
		if _, function := f.Type.(*ast.FuncType); function && service {
			h.counts["interfaces"] += max(1, len(f.Names))
		}
	}
	if len(fields) >= minFields {
		h.structs = append(h.structs, structure{folder, name, fields})
	}
}

// compare counts the pairs of structs that are nearly equal.
func (h *house) compare(list bool) {
	for i, a := range h.structs {
		for _, b := range h.structs[i+1:] {
			if a.folder == b.folder {
				continue
			}
			common := 0
			for f := range a.fields {
				if b.fields[f] {
					common++
				}
			}
			if float64(common) >= minShare*float64(max(len(a.fields), len(b.fields))) {
				h.counts["similar structs"]++
				if list {
					fmt.Printf("%s.%s and %s.%s share %d of %d and %d fields\n", a.folder, a.name, b.folder, b.name, common,
						len(a.fields), len(b.fields))
				}
			}
		}
	}
}

// codeLines counts the lines that have a token other than a comment.
func codeLines(source []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(at)
		for line := range 1 + strings.Count(text, "\n") {
			lines[first+line] = true
		}
	}
}

// check compares the counts with the limits.
func (h *house) check(update bool) error {
	limit := map[string]int{}
	text, err := os.ReadFile(limits)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var n int
		if _, err := fmt.Sscan(number, &n); err != nil || !slices.Contains(names, name) {
			return fmt.Errorf("%s: %q is not NAME: NUMBER", limits, strings.TrimSpace(line))
		}
		limit[name] = n
	}
	var written bytes.Buffer
	var risen []string
	for _, name := range names {
		most, known := limit[name]
		count := h.counts[name]
		fmt.Printf("%-16s %7d, at most %d\n", name, count, most)
		if known && count > most {
			risen = append(risen, fmt.Sprintf("%s have risen from %d to %d", name, most, count))
		}
		if !known {
			most = count
		}
		fmt.Fprintf(&written, "%s: %d\n", name, min(count, most))
	}
	if len(risen) > 0 {
		return fmt.Errorf("%s: remove something, or state in the commit why %s rises", strings.Join(risen, "; "), limits)
	}
	if update {
		return os.WriteFile(limits, written.Bytes(), 0o644)
	}
	return nil
}
