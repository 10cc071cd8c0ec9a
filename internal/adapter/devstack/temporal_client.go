package devstack

import (
	"context"
	"fmt"
	"log/slog"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// silent discards the SDK's log messages about a server that is still starting.
var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// dialTemporal connects, checks that the namespace exists and returns the server's version.
func dialTemporal(ctx context.Context, options client.Options) (client.Client, string, error) {
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, "", fmt.Errorf("connect to %s: %w", options.HostPort, err)
	}
	service := temporal.WorkflowService()
	if _, err := service.DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: options.Namespace}); err != nil {
		temporal.Close()
		return nil, "", fmt.Errorf("find the namespace %q: %w", options.Namespace, err)
	}
	system, err := service.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		temporal.Close()
		return nil, "", fmt.Errorf("read the version of %s: %w", options.HostPort, err)
	}
	return temporal, system.GetServerVersion(), nil
}

// missingAttributes returns the wanted search attributes, name to type, that the namespace does not
// have.
func missingAttributes(ctx context.Context, temporal client.Client, namespace string,
	wanted map[string]string) (map[string]string, error) {
	has, err := temporal.OperatorService().
		ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list the search attributes: %w", err)
	}
	missing := map[string]string{}
	for name, kind := range wanted {
		if _, ok := has.GetCustomAttributes()[name]; !ok {
			missing[name] = kind
		}
	}
	return missing, nil
}

func addAttributes(ctx context.Context, temporal client.Client, namespace string, attributes map[string]string) error {
	if len(attributes) == 0 {
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace,
		SearchAttributes: map[string]enumspb.IndexedValueType{}}
	for name, kind := range attributes {
		value, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil {
			return fmt.Errorf("search attribute %s: %w", name, err)
		}
		request.SearchAttributes[name] = value
	}
	if _, err := temporal.OperatorService().AddSearchAttributes(ctx, request); err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}
