// The reference at /docs: the service's own OpenAPI document, tried out in place.
SwaggerUIBundle({ url: "openapi.json", dom_id: "#reference", deepLinking: true });
