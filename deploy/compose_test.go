// Package deploy_test checks the deployment files without deploying them.
package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"cairn/internal/domain/contract"
)

type service struct {
	Image       string
	Build       struct{ Dockerfile, Target string }
	Profiles    []string
	Environment map[string]string
	Command     []string
	Entrypoint  []string
	Volumes     []string
	Networks    []string
	Ports       []string
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	EnvFile     []struct {
		Path     string
		Required bool
	} `yaml:"env_file"`
	Deploy struct {
		Replicas  int
		Resources struct{ Limits struct{ Memory string } }
	}
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
	for name, image := range map[string]string{"postgres": "pgvector/pgvector:0.8.", "temporal": "temporalio/server:",
		"temporal-schema":    "temporalio/admin-tools:",
		"temporal-namespace": "temporalio/admin-tools:", "temporal-ui": "temporalio/ui:", "gateway": "cairn:",
		"worker": "cairn:", "migrate": "cairn:"} {
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
		if s.ReadOnly && !slices.ContainsFunc(s.Tmpfs, func(at string) bool { return strings.Contains(at, "size=") }) {
			t.Errorf("%s: its /tmp can take all memory", name)
		}
		if _, tag, pinned := strings.Cut(s.Image, ":"); !pinned || tag == "latest" {
			t.Errorf("%s: %s is not pinned", name, s.Image)
		}
		for key, value := range s.Environment { // a default would be a publicly known password
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

// Each setting reaches the services through a file, and the superuser's password only those that use
// it. Services that keep running have limits.
func TestComposePassesSettingsAndHidesTheSuperuser(t *testing.T) {
	t.Parallel()
	_, services := compose(t)
	for name, s := range services {
		for key, value := range s.Environment {
			if strings.Contains(value, "${POSTGRES_PASSWORD") && name != "postgres" && name != "migrate" {
				t.Errorf("%s receives the superuser's password in %s", name, key)
			}
			if slices.Contains([]string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "CAIRN_MODEL", "CAIRN_LOG"}, key) {
				t.Errorf("%s: %s overrides cairn.env", name, key)
			}
		}
	}
	for name, file := range map[string]string{"gateway": "cairn.env", "worker": "cairn.env", "sandbox": "sandbox.env"} {
		if f := services[name].EnvFile; len(f) != 1 || f[0].Path != file || f[0].Required {
			t.Errorf("%s reads its settings from %+v", name, f)
		}
	}
	for _, name := range []string{"postgres", "temporal", "temporal-ui", "gateway", "worker", "sandbox"} {
		if services[name].Deploy.Resources.Limits.Memory == "" {
			t.Errorf("%s has no memory limit", name)
		}
	}
	if services["temporal"].Environment["NUM_HISTORY_SHARDS"] != "512" {
		t.Error("Temporal does not have 512 history shards")
	}
	if !slices.Contains(services["postgres"].Command, "max_connections=300") {
		t.Errorf("Postgres runs %v", services["postgres"].Command)
	}
}

func TestThePasswordsAreRandomAndComplete(t *testing.T) {
	t.Parallel()
	run := func() []string {
		out, err := exec.Command("sh", "passwords.sh").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	one, other := run(), run()
	line := regexp.MustCompile(`^(POSTGRES|CAIRN_POSTGRES|TEMPORAL_POSTGRES)_PASSWORD=[0-9a-f]{48}$`)
	if len(one) != 3 {
		t.Fatalf("%q", one)
	}
	for i := range one {
		if !line.MatchString(one[i]) || one[i] == other[i] || slices.Contains(one[:i], one[i]) {
			t.Errorf("%q, then %q", one[i], other[i])
		}
	}
}

// The worker for commands of skills is off unless it is requested. It reaches the two servers over
// a network without a route to the outside, has the packages of other workers, and has no API key
// of a model.
func TestTheSandboxIsOffAndHasNoWayOut(t *testing.T) {
	t.Parallel()
	text, services := compose(t)
	box := services["sandbox"]
	if !slices.Equal(box.Profiles, []string{"sandbox"}) || !strings.HasPrefix(box.Image, "cairn-sandbox:") ||
		box.Environment["CAIRN_SHELL"] != "on" ||
		!slices.Equal(box.Command, []string{"worker", "--queues", contract.QueueSandbox}) {
		t.Errorf("the sandbox is %+v", box)
	}
	var file struct {
		Networks map[string]struct{ Internal bool }
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	if len(box.Networks) != 1 || !file.Networks[box.Networks[0]].Internal || len(box.Ports) > 0 ||
		!slices.Equal(box.Volumes, services["worker"].Volumes) || !box.ReadOnly ||
		!slices.Contains(box.Tmpfs, "/tmp:size=1g") || !slices.Equal(box.CapDrop, []string{"ALL"}) {
		t.Errorf("the sandbox is not shut: %+v", box)
	}
	out := []string{"channels", "gateway", "temporal-ui", "worker"} // reached from outside, or calling models
	for name, s := range services {
		if want := map[bool]string{true: "default inside",
			false: "inside"}[slices.Contains(out, name)]; strings.Join(s.Networks, " ") != want {
			t.Errorf("%s is on %v, want %s", name, s.Networks, want)
		}
		if shell := s.Environment["CAIRN_SHELL"]; name != "sandbox" &&
			(len(s.Profiles) > 0 && name != "channels" || shell != "") {
			t.Errorf("%s: profiles %v, commands of skills %s", name, s.Profiles, shell)
		}
	}
	for name := range box.Environment {
		// Like every worker it must decrypt workflow payloads. Its commands do not see its
		// environment.
		if strings.HasPrefix(name, "OPENAI") || strings.Contains(name, "KEY") && name != "CAIRN_PAYLOAD_KEYS" {
			t.Errorf("the sandbox receives %s", name)
		}
	}
	image, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, stage, found := strings.Cut(string(image), " AS "+box.Build.Target+"\n")
	stage, last, _ := strings.Cut(stage, "\nFROM ")
	if !found || !regexp.MustCompile(`(?m)^USER 65532`).MatchString(stage) || last == "" {
		t.Error("the image of the sandbox runs as root, is not there, or is the one that all others run")
	}
}

// A sandbox consists of namespaces and mounts. The profile of its container allows these and blocks
// most other risky system calls.
func TestTheSandboxMayMakeSandboxes(t *testing.T) {
	t.Parallel()
	_, services := compose(t)
	i := slices.IndexFunc(services["sandbox"].SecurityOpt, func(o string) bool {
		return strings.HasPrefix(o, "seccomp:./")
	})
	if i < 0 || !slices.Contains(services["sandbox"].SecurityOpt, "no-new-privileges:true") {
		t.Fatalf("the sandbox's options are %v", services["sandbox"].SecurityOpt)
	}
	raw, err := os.ReadFile(filepath.Join("..", strings.TrimPrefix(services["sandbox"].SecurityOpt[i], "seccomp:")))
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		Default  string `json:"defaultAction"`
		Syscalls []struct {
			Names  []string
			Action string
		}
	}
	if err := json.Unmarshal(raw, &profile); err != nil || profile.Default != "SCMP_ACT_ALLOW" ||
		len(profile.Syscalls) != 1 || profile.Syscalls[0].Action != "SCMP_ACT_ERRNO" {
		t.Fatalf("%v: %+v", err, profile)
	}
	for name, refused := range map[string]bool{"clone": false, "unshare": false, "mount": false, "umount2": false,
		"mount_setattr": false, "pivot_root": false, "sethostname": false, "seccomp": false, "prctl": false,
		"bpf": true, "ptrace": true, "setns": true, "keyctl": true, "io_uring_setup": true, "init_module": true,
		"open_by_handle_at": true, "perf_event_open": true} {
		if slices.Contains(profile.Syscalls[0].Names, name) != refused {
			t.Errorf("%s is refused: %t", name, !refused)
		}
	}
}

// Row-level security does not apply to a superuser, so no service uses one.
func TestWhatServesIsNoSuperuser(t *testing.T) {
	t.Parallel()
	_, services := compose(t)
	for _, name := range []string{"gateway", "worker", "sandbox"} {
		if url := services[name].Environment["DATABASE_URL"]; !strings.HasPrefix(url, "postgres://cairn@") {
			t.Errorf("%s logs in with %s", name, url)
		}
	}
	script, err := os.ReadFile("postgres/logins.sh")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(
		string(script),
		"create role cairn login noinherit nosuperuser nocreatedb nocreaterole nobypassrls "+
			"password :'cairn' in role cairn_app, cairn_system;",
	) {
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
	for name, kind := range contract.SearchAttributes() {
		if !slices.Contains(made, name) || kind != "Keyword" {
			t.Errorf("%s of type %s is not made", name, kind)
		}
	}
}

// If Docker is installed, it checks the file.
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
	if out, err := config(
		"POSTGRES_PASSWORD=a",
		"CAIRN_POSTGRES_PASSWORD=b",
		"TEMPORAL_POSTGRES_PASSWORD=c",
	); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := config(); err == nil || !strings.Contains(out, "POSTGRES_PASSWORD") {
		t.Errorf("without a password: %v: %s", err, out)
	}
}
