-- prelude: makes the ctx of a template out of what workerd offers (host), the
-- facts of the run and the table of the template. Runs in the template's
-- confined state; gives the function that is the run's main coroutine.
local host, facts, template = ...
local pcall, error, type = pcall, error, type
local min = math.min

local ctx = {
	inputs = facts.inputs,
	limits = facts.limits,
	runId = facts.runId,
	sessionId = facts.sessionId,
	traceId = facts.traceId,
	resources = facts.resources,
	attempt = facts.attempt,
	json = host.json,
	null = host.null,
}

local function code_of(err)
	if type(err) ~= "table" then
		return "TEMPLATE_FAULT"
	end
	return err.cause or err.code or "TEMPLATE_FAULT"
end

-- A step is ok or failed by how fn ends; a table that fn returns first is the
-- step's meta. Errors go on to the caller.
function ctx:step(name, fn)
	host.step_start(name)
	local ok, meta, second = pcall(fn)
	if not ok then
		host.step_end(name, false, code_of(meta))
		error(meta, 0)
	end
	host.step_end(name, true, nil, type(meta) == "table" and meta or nil)
	return meta, second
end

function ctx:step_retry(name, code)
	host.step_retry(name, code)
end

function ctx:phase(name)
	host.phase(name)
end

function ctx:progress(t)
	host.progress(t)
end

function ctx:warn(text)
	host.warn(text)
end

function ctx:total(n)
	host.total(n)
end

function ctx:collect(t)
	host.collect(t)
end

function ctx:item_done(index, key)
	return host.item_done(index, key)
end

function ctx:item(t)
	host.item(t)
end

function ctx:artifact(t)
	host.artifact(t)
end

function ctx:clock()
	return host.clock()
end

function ctx:tab()
	return host.tab()
end

-- A sliding window: at most `concurrency` coroutines, each with a tab of its
-- own that it keeps, take the values of the list one after the other. Ends
-- when all are done; the first error ends it for all.
function ctx:each(list, concurrency, fn)
	local last = 0
	local function slot()
		local tab = host.tab()
		while last < #list do
			last = last + 1
			local index = last
			fn(tab, list[index], index)
		end
		tab:close()
	end
	for _ = 1, min(concurrency, #list, self.limits.maxTabs) do
		host.spawn(slot)
	end
	host.join()
end

-- What pages learn of their reader, and how their questions are answered, is set
-- for any template; what they asked is told in its result.
return function()
	host.dialogs_are(type(ctx.inputs) == "table"
		and ctx.inputs.dialogs == "accept")
	if type(ctx.inputs) == "table" and type(ctx.inputs.device) == "table" then
		host.device(ctx.inputs.device)
	end
	local result = template.run(ctx)
	if type(result) == "table" then
		result.dialogs = host.dialogs() or result.dialogs
	end
	host.result(result)
end
