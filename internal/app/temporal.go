package app

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"cairn/internal/adapter/launcher"
	"cairn/internal/adapter/payloadcodec"
	"cairn/internal/domain/fault"
)

// dial prepares the client of Temporal. The standard TEMPORAL_* variables set TLS, API key and headers.
func (h *App) dial() error {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "read the TEMPORAL_* variables",
			"correct the named TEMPORAL_* variable")
	}
	options.HostPort, options.Namespace = h.Config.TemporalAddress, h.Config.TemporalNamespace
	// Requests contain only IDs and counts: compression costs more time than it saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.Logger = quietStop{temporallog.NewStructuredLogger(h.Log)}
	codec, err := payloadcodec.New(h.Config.PayloadKeys)
	if err != nil {
		return err
	}
	h.Payloads = converter.GetDefaultDataConverter()
	if codec != nil {
		h.Codec, h.Payloads = codec, converter.NewCodecDataConverter(h.Payloads, codec)
	}
	h.Failures = temporal.NewDefaultFailureConverter(
		temporal.DefaultFailureConverterOptions{DataConverter: h.Payloads, EncodeCommonAttributes: codec != nil})
	options.DataConverter, options.FailureConverter = h.Payloads, h.Failures
	// The gateway serves without Temporal, so the connection is made by the first request.
	if h.Temporal, err = client.NewLazyClient(options); err != nil {
		return h.classifyTemporalError(err, "invalid options for Temporal at "+h.Config.TemporalAddress)
	}
	h.Driver = launcher.Driver{Client: h.Temporal, Limits: conversationLimits(h.Config), Heartbeat: h.Config.Heartbeat,
		Earlier: h.Store.OpenTurnsBefore}
	h.Progressive.Starter, h.Offload.Starter = h.Driver, h.Driver
	return nil
}

// quietStop drops the warning with which a poller of the SDK can end when its worker stops. It is not a failure.
type quietStop struct{ temporallog.Logger }

func (l quietStop) Warn(message string, keyvals ...any) {
	for _, v := range keyvals {
		if err, ok := v.(error); ok && err.Error() == "worker stopping" {
			return
		}
	}
	l.Logger.Warn(message, keyvals...)
}

// With keeps the rule in the loggers of workers and workflows.
func (l quietStop) With(keyvals ...any) temporallog.Logger {
	return quietStop{temporallog.With(l.Logger, keyvals...)}
}

// CheckTemporal returns an error if Temporal is configured and does not respond.
func (h *App) CheckTemporal(ctx context.Context) error {
	if h.Temporal == nil {
		return nil
	}
	_, err := h.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	if err == nil {
		return nil
	}
	return h.classifyTemporalError(err, "Temporal does not respond at "+h.Config.TemporalAddress)
}

// classifyTemporalError distinguishes errors that an operator must solve from temporary ones. A
// missing namespace is temporary: during setup, a server responds before its namespace is registered.
func (h *App) classifyTemporalError(err error, message string) error {
	var (
		missing *serviceerror.NamespaceNotFound
		denied  *serviceerror.PermissionDenied
		old     *serviceerror.ClientVersionNotSupported
	)
	switch {
	case errors.As(err, &missing):
		return fault.Wrap(err, fault.Unavailable, message,
			"register the namespace "+h.Config.TemporalNamespace+", or correct TEMPORAL_NAMESPACE")
	case errors.As(err, &denied):
		return fault.Wrap(err, fault.Misconfigured, message,
			"check TEMPORAL_API_KEY or the client certificate, and their permissions in the namespace "+
				h.Config.TemporalNamespace)
	case errors.As(err, &old):
		return fault.Wrap(err, fault.Misconfigured, message,
			"update the Temporal server or this program, whichever is older")
	}
	return fault.Wrap(err, fault.Unavailable, message, "start Temporal, or use the development stack with `cairn "+
		"dev`")
}
