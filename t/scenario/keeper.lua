-- Goes to addresses, one after the other, in the session's first tab, and says
-- what each page says. ID and KEEPS are put in front by keepworker.c.
local template = {
	id = ID,
	version = "1.0.0",
	name = "Look at pages",
	description = "Says what pages say.",
	inputs = {
		type = "object",
		additionalProperties = false,
		properties = {
			urls = { type = "array", items = { type = "string" } },
			store = { type = "string" },
			noise = { type = "integer" },
			fail = { type = "boolean" },
		},
	},
	outputs = { type = "object" },
	limits = { maxTimeoutMs = 300000 },
	trustLevelSupport = { "local" },
	executionMode = "sync",
	supportsPartialSuccess = false,
	restartSafe = false,
	keepsSession = KEEPS,
	exampleInputs = {},
}

function template.run(ctx)
	local tab = ctx:tab()
	local said = {}

	for i, url in ipairs(ctx.inputs.urls or {}) do
		local page, err = tab:navigate(url, { timeoutMs = 120000 })
		if not page then
			error(err)
		end
		said[i] = tab:eval([[() => ({
		    text: document.body.innerText,
		    stored: localStorage.getItem("word"),
		    kept: sessionStorage.getItem("tab") })]])
		if ctx.inputs.store then
			tab:eval([[(word) => {
			    localStorage.setItem("word", word);
			    sessionStorage.setItem("tab", word); }]],
			    ctx.inputs.store)
		end
	end
	-- Commands and answers of that many bytes, for ever.
	while ctx.inputs.noise do
		tab:eval("(word) => word", ("x"):rep(ctx.inputs.noise))
	end
	if ctx.inputs.fail then
		error("asked to fail")
	end
	return { said = ctx.json.array(said) }
end

return template
