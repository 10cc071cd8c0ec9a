package devstack

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"cairn/internal/domain/fault"
)

// givenTemporal is the server that TEMPORAL_ADDRESS names. It is used without any change to it.
type givenTemporal struct {
	options client.Options
	version string
}

// useTemporal checks the server that the environment names. TLS, keys and the namespace come from
// the usual TEMPORAL_ variables.
func useTemporal(ctx context.Context, attributes map[string]string, say *journal) (*givenTemporal, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "read the TEMPORAL_ settings",
			"correct the TEMPORAL_ variables in the environment")
	}
	if options.Namespace == "" {
		options.Namespace = defaultNamespace
	}
	options.Logger = silent
	temporal, version, err := dialTemporal(ctx, options)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "use the Temporal server that TEMPORAL_ADDRESS names",
			"start that server or correct TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, or unset them and let "+
				"Cairn start a server")
	}
	defer temporal.Close()
	// Without the permission to list them, the missing ones are unknown.
	if missing, err := missingAttributes(ctx, temporal, options.Namespace, attributes); err == nil && len(missing) > 0 {
		say.say("the Temporal server at %s lacks search attributes; create them with\n  %s", options.HostPort,
			createAttributes(options.Namespace, missing))
	}
	return &givenTemporal{options: options, version: version}, nil
}

func createAttributes(namespace string, attributes map[string]string) string {
	words := []string{"temporal operator search-attribute create --namespace", namespace}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		words = append(words, "--name", name, "--type", attributes[name])
	}
	return strings.Join(words, " ")
}

func (t *givenTemporal) address() string   { return t.options.HostPort }
func (t *givenTemporal) namespace() string { return t.options.Namespace }
func (t *givenTemporal) ui() string        { return os.Getenv("TEMPORAL_UI_URL") }
func (t *givenTemporal) close() error      { return nil }

// errGivenTemporal is returned for a stop or restart of a server that is not managed.
var errGivenTemporal = fault.New(fault.NotManaged,
	"Cairn does not manage the Temporal server that TEMPORAL_ADDRESS names",
	"unset TEMPORAL_ADDRESS and let Cairn start a server")

func (t *givenTemporal) restart(context.Context, bool) error { return errGivenTemporal }
func (t *givenTemporal) stop(context.Context) error          { return errGivenTemporal }

func (t *givenTemporal) found() []Found {
	found := []Found{{Part: "Temporal", Status: statusOK, Version: t.version, Where: "TEMPORAL_ADDRESS"}}
	if t.ui() != "" {
		found = append(found, Found{Part: "Temporal UI", Status: statusOK, Where: t.ui()})
	}
	return found
}
