-- Clicks through pages, one button on each, and never on one again. A click is
-- told as done when the next page is there.
local _, kit = ...

local template = {
	id = "clicker",
	version = "1.0.0",
	name = "Click through pages",
	description = "Clicks the one button of each page.",
	inputs = {
		type = "object",
		additionalProperties = false,
		required = { "url", "clicks" },
		properties = {
			url = { type = "string" },
			clicks = { type = "integer" },
		},
	},
	outputs = { type = "object" },
	limits = { maxTimeoutMs = 300000 },
	trustLevelSupport = { "local" },
	executionMode = "async",
	supportsPartialSuccess = false,
	restartSafe = false,
	exampleInputs = { url = "http://127.0.0.1/", clicks = 1 },
}

function template.run(ctx)
	local tab = ctx:tab()
	local step = kit.stepper(ctx, ctx.inputs.clicks)

	kit.must(tab:navigate(ctx.inputs.url))
	for k = 1, ctx.inputs.clicks do
		step("click", function()
			kit.must(tab:click({ mode = "selector",
				selector = "#go" .. k }))
			-- What it sets off may take longer than the tab
			-- waits for it.
			kit.must(tab:wait({ type = "selector",
				value = "#go" .. k + 1, timeoutMs = 60000 }))
		end)
	end
	return { clicks = ctx.inputs.clicks }
end

return template
