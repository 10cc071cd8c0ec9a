package peerbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"cairn/internal/adapter/devstack"
	"cairn/internal/lab/bench/clients"
)

// packages are the requirements of the Python systems.
var packages = map[string][]string{
	mem0Name:    {"mem0ai==2.2.1"},
	langmemName: {"langmem==0.0.30", "langgraph-checkpoint-postgres", "psycopg[binary]", "langchain-openai"},
}

// python drives a Python package by clients/peers/peer.py.
type python struct {
	name, kind, home, url string
	log                   io.Writer
	database              *devstack.Stack // of LangMem

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

func (p *python) start(ctx context.Context) error {
	environment, err := clients.CachedPython(ctx, "peer-"+p.kind, packages[p.name], p.log)
	if err != nil {
		return err
	}
	database := ""
	if p.name == langmemName {
		if p.database == nil {
			if p.database, err = devstack.Start(
				ctx,
				devstack.Options{Dir: filepath.Join(p.home, "postgres"), Log: p.log,
					SkipTemporal: true},
			); err != nil {
				return err
			}
		}
		database = p.database.DatabaseURL()
	}
	p.cmd = exec.CommandContext(ctx, environment, filepath.Join("clients", "peers", "peer.py"), p.kind)
	p.cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1",
		"MEM0_TELEMETRY=False", "ANONYMIZED_TELEMETRY=False", "LANGSMITH_TRACING=false", "MODEL_URL=" + p.url,
		"PEER_HOME=" + p.home, "DATABASE_URL=" + database}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.lines = bufio.NewReader(out)
	return p.answer(nil)
}

// do sends a command and reads its answer.
func (p *python) do(command object, into any) error {
	raw, err := json.Marshal(command)
	if err == nil {
		_, err = p.in.Write(append(raw, '\n'))
	}
	if err != nil {
		return err
	}
	return p.answer(into)
}

func (p *python) answer(into any) error {
	for {
		line, err := p.lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s ended: %w", p.kind, err)
		}
		var out struct {
			Out   json.RawMessage
			Error string
			MS    *float64
		}
		if json.Unmarshal(line, &out) != nil || out.MS == nil {
			continue // a message of the package
		}
		if out.Error != "" {
			return errors.New(out.Error)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(out.Out, into)
	}
}

func (p *python) add(_ context.Context, user, text string) error {
	var added int
	err := p.do(object{"do": "add", "user": user, "text": text}, &added)
	if err == nil && added == 0 {
		err = errors.New("nothing was added")
	}
	return err
}

func (p *python) load(_ context.Context, user string, texts []string) error {
	return p.do(object{"do": "load", "user": user, "texts": texts}, nil)
}

func (p *python) search(_ context.Context, user, query string) (out []string, err error) {
	return out, p.do(object{"do": "search", "user": user, "query": query}, &out)
}

func (p *python) list(_ context.Context, user string) (out []string, err error) {
	return out, p.do(object{"do": "list", "user": user}, &out)
}

func (p *python) kill() error { return p.cmd.Process.Kill() }

func (p *python) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.in.Close()
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // reports the kill
	}
	if p.database != nil {
		_ = p.database.Close()
	}
}
