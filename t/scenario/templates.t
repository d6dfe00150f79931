#!/usr/bin/perl
# The metadata of the templates that come with browsertaskd, as clients see
# them: nothing without a description, and none with a fault.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Cwd qw(abs_path);
use JSON::PP ();
use Test::More;

my $json = JSON::PP->new->canonical;
my $srcdir = abs_path($ENV{srcdir} // '.');
my @files = map { m{([^/]+)\.lua$} } glob "$srcdir/templates/*.lua";

# Where a schema lacks descriptions of what it has: paths.
sub bare {
	my ($schema, $at) = @_;
	my @bare;
	my $below = $schema->{properties} // {};

	for my $name (sort keys %$below) {
		push @bare, "$at/$name" if !length($below->{$name}{description}
			// '');
		push @bare, bare($below->{$name}, "$at/$name");
	}
	push @bare, bare($schema->{items}, "$at/*")
	    if ref $schema->{items} eq 'HASH';
	return @bare;
}

my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my %by_id = map { $_->{id} => $_ }
    @{ $c->call('template.list', {})->{templates} };

is_deeply([ sort keys %by_id ], [ sort @files ],
	'every file of templates/ is a template that is served');
for my $id (sort keys %by_id) {
	my $t = $by_id{$id};

	cmp_ok(length $t->{description}, '>', 80, "$id: is described");
	is(join(' ', map { bare($t->{$_}, $_) } qw(inputs outputs)), '',
		"$id: and all it takes and gives");
	ok(!$t->{inputs}{additionalProperties}, "$id: takes nothing else");
	ok(@{ $t->{errorCodes} } > 0, "$id: names its errors");
	is_deeply([ sort keys %{ $t->{limits} } ],
		[ qw(maxConcurrency maxTimeoutMs maxUrls) ], "$id: has limits");
	like($json->encode($t->{exampleInputs}), qr/^\{".*\}$/,
		"$id: has an example");
	my $r = $c->run($id, { %{ $t->{exampleInputs} }, colour => 'red' });
	is($r->{errorCode}, 'INVALID_PARAMETER', "$id: is strict");
	my ($status, $out, $err) =
	    $i->ctl('template', 'check', "$srcdir/templates/$id.lua");
	is($status, 0, "$id: has no fault") or diag "$out$err";
}
unlike($i->log, qr/template \w+:/, 'nothing to say about them');
is($i->stop, 0, 'stops');
is(left(60), '', 'nothing is left');
done_testing();
