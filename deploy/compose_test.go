// Package deploy_test checks what is deployed without deploying it.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"cairn/internal/flow"
)

type service struct {
	Image       string
	Build       struct{ Dockerfile string }
	Environment map[string]string
	Command     []string
	Entrypoint  []string
	Volumes     []string
	Deploy      struct{ Replicas int }
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

func compose(t *testing.T) (text string, services map[string]service) {
	t.Helper()
	raw, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return string(raw), file.Services
}

func TestComposeIsTheProductionShape(t *testing.T) {
	t.Parallel()
	text, services := compose(t)
	for name, image := range map[string]string{"postgres": "pgvector/pgvector:pg17", "temporal": "temporalio/server:", "temporal-schema": "temporalio/admin-tools:",
		"temporal-namespace": "temporalio/admin-tools:", "temporal-ui": "temporalio/ui:", "gateway": "cairn:", "worker": "cairn:", "migrate": "cairn:"} {
		if !strings.HasPrefix(services[name].Image, image) {
			t.Errorf("%s runs %q, want %s", name, services[name].Image, image)
		}
	}
	if services["worker"].Deploy.Replicas != 2 {
		t.Error("there are not two workers")
	}
	if strings.Contains(text, "auto-setup") {
		t.Error("auto-setup is no longer built")
	}
	if !strings.Contains(services["postgres"].Environment["POSTGRES_PASSWORD"], "${POSTGRES_PASSWORD:?") {
		t.Error("it starts without a password")
	}
	for name, s := range services {
		if strings.Contains(strings.Join(s.Healthcheck.Test, " "), "curl") {
			t.Errorf("%s: its image may have no curl", name)
		}
		for key, value := range s.Environment { // a default would be a password that everybody knows
			if strings.Contains(key, "PASSWORD") && regexp.MustCompile(`:-[^$}]`).MatchString(value) {
				t.Errorf("%s: %s has a default", name, key)
			}
		}
		for on, d := range s.DependsOn {
			other, there := services[on]
			if !there || d.Condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s to be %s, which it will not be", name, on, d.Condition)
			}
		}
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "./") {
				if _, err := os.Stat(filepath.Join("..", from)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if s.Build.Dockerfile != "" {
			if _, err := os.Stat(filepath.Join("..", s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Row-level security does not bind a superuser, so nothing that serves is one.
func TestWhatServesIsNoSuperuser(t *testing.T) {
	t.Parallel()
	_, services := compose(t)
	for _, name := range []string{"gateway", "worker"} {
		if url := services[name].Environment["DATABASE_URL"]; !strings.HasPrefix(url, "postgres://cairn@") {
			t.Errorf("%s logs in with %s", name, url)
		}
	}
	script, err := os.ReadFile("postgres/logins.sh")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), "create role cairn login nosuperuser nocreatedb nocreaterole nobypassrls password :'cairn' in role cairn_app, cairn_system;") {
		t.Error("the login of Cairn is another one")
	}
	image, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^USER 65532`).Match(image) {
		t.Error("the image runs as root")
	}
}

func TestTheNamespaceHasEverySearchAttribute(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("temporal/namespace.sh")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`for name in (Cairn.*); do`).FindSubmatch(raw)
	if line == nil {
		t.Fatal("the script makes no search attributes")
	}
	made := strings.Fields(string(line[1]))
	for name, kind := range flow.SearchAttributes() {
		if !slices.Contains(made, name) || kind != "Keyword" {
			t.Errorf("%s of type %s is not made", name, kind)
		}
	}
}

// Where Docker is, its own opinion counts.
func TestDockerAcceptsTheComposeFile(t *testing.T) {
	t.Parallel()
	if exec.Command("docker", "compose", "version").Run() != nil {
		t.Skip("docker has no compose here: the file was only read as YAML")
	}
	config := func(environ ...string) (string, error) {
		c := exec.Command("docker", "compose", "--file", "../docker-compose.yml", "config", "--quiet")
		c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, environ...)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := config("POSTGRES_PASSWORD=secret"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := config(); err == nil || !strings.Contains(out, "POSTGRES_PASSWORD") {
		t.Errorf("without a password: %v: %s", err, out)
	}
}
